"""Shapes, refusals and warnings are those of a real kube-apiserver 1.37 on the recorded requests.

Set FAIRWAY_GOLDEN to read the recordings from another folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from fairway.api import resources
from fairway.api.errors import StatusError
from fairway.api.resources import Resource
from fairway.api.schema.body import JSON, read_object
from fairway.api.schema.conform import conform
from fairway.api.schema.shape import UnknownKind, shape_of

GOLDEN = Path(os.environ.get("FAIRWAY_GOLDEN", Path(__file__).parents[3] / "conformance" / "golden"))
KINDS = {r.plural: (r.api_version, r.kind) for r in vars(resources).values() if isinstance(r, Resource)}
KINDS["events"] = ("v1", "Event")
SUBRESOURCES = {
    "binding": ("v1", "Binding"),
    "eviction": ("policy/v1", "Eviction"),
    "scale": ("autoscaling/v1", "Scale"),
    "token": ("authentication.k8s.io/v1", "TokenRequest"),
}
PATH = re.compile(r"/apis?/(?:[^/]+/)?v1/(?:namespaces/[^/]+/)?([a-z]+)(?:/[^/]+(?:/([a-z]+))?)?")
DECODING = re.compile(r"^(unknown|duplicate) field ")
STANDING_FOR = {"<time>": "2026-01-01T00:00:00Z", "<microtime>": "2026-01-01T00:00:00.000000Z"}
Step = dict[str, Any]


def recorded_steps() -> Iterator[tuple[str, Step]]:
    for file in ("api.jsonl", "api-dualstack.jsonl"):
        if (GOLDEN / file).exists():
            for line in (GOLDEN / file).read_text().splitlines():
                case = json.loads(line)
                for number, step in enumerate(case["steps"]):
                    yield f"{case['id']}#{number}", step


STEPS = list(recorded_steps())
needs_recordings = pytest.mark.skipif(not STEPS, reason=f"no recordings in {GOLDEN}")


def concrete(value: Any) -> Any:
    """The recording with a time for every time and a number for every node port."""
    if isinstance(value, dict):
        return {key: concrete(item) for key, item in value.items()}
    if isinstance(value, list):
        return [concrete(item) for item in value]
    if isinstance(value, str):
        return 30000 if re.fullmatch(r"[<$]\{?nodePort\d+[>}]", value) else STANDING_FOR.get(value, value)
    return value


def answered_objects() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, step in STEPS:
        body = step["expect"].get("body")
        events = body if isinstance(body, list) else [{"object": body}]
        for event in events:
            found = event.get("object") if isinstance(event, dict) else None
            if isinstance(found, dict) and "kind" in found and "<any>" not in json.dumps(found):
                yield name, concrete(found)


@needs_recordings
def test_every_recorded_object_is_already_as_we_would_store_it() -> None:
    checked = 0
    for name, recorded in answered_objects():
        try:
            shape = shape_of(recorded["apiVersion"], recorded["kind"])
        except (UnknownKind, KeyError):
            continue  # tables and discovery documents are not stored
        if recorded["kind"].endswith("List"):
            continue  # nor are lists
        assert conform(deepcopy(recorded), shape, "Strict") == (recorded, []), name
        checked += 1
    assert checked > 900


def expected_kind(step: Step) -> tuple[str, str] | None:
    found = PATH.fullmatch(step["path"].partition("?")[0])
    if found is None or (found[1] == "namespaces" and found[2] in KINDS):
        return None
    if step["path"].startswith("/apis/events.k8s.io/"):
        return "events.k8s.io/v1", "Event"
    return SUBRESOURCES.get(found[2]) or KINDS.get(found[1])


def writes() -> Iterator[tuple[str, Step, tuple[str, str]]]:
    for name, step in STEPS:
        kind = expected_kind(step)
        if step["method"] in ("POST", "PUT") and kind and ("body" in step or "rawBody" in step):
            yield name, step, kind


def is_about_decoding(message: str) -> bool:
    return " cannot be handled as a " in message or message.startswith("the object provided is unrecognized")


def outcome(body: bytes, media_type: str, version: str, kind: str, validation: str) -> tuple[str, list[str]]:
    """The words of the refusal, or "" and the warnings."""
    try:
        return "", read_object(body, media_type, version, kind, validation)[1]
    except StatusError as error:
        return error.message, []


@needs_recordings
def test_every_recorded_write_is_read_refused_and_warned_of_as_recorded() -> None:
    refused = warned = 0
    for name, step, (version, kind) in writes():
        raw = step.get("rawBody")
        body = raw.encode() if raw is not None else json.dumps(concrete(step["body"])).encode()
        media_type = (step.get("headers") or {}).get("Content-Type", JSON)
        if media_type not in (JSON, "application/yaml"):
            continue
        validation = re.search(r"fieldValidation=(Strict|Warn|Ignore)", step["path"])
        answer = step["expect"].get("body")
        message = answer.get("message", "") if isinstance(answer, dict) else ""
        recorded = [text for text in step["expect"].get("warnings", []) if DECODING.match(text)]
        found, warnings = outcome(body, media_type, version, kind, validation[1] if validation else "Warn")
        assert found == (message if found or is_about_decoding(message) else ""), name
        assert found or warnings == recorded, name
        refused += bool(found)
        warned += bool(recorded)
    assert refused >= 20
    assert warned >= 2
