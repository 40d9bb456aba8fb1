"""Requests that are almost right: recorded ones, with something in them replaced, repeated or left out.

Everything hangs on the `random.Random` passed in, so a run can be repeated.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from tests.conformance.golden_cases import CORPORA, cases

JSON, YAML = "application/json", "application/yaml"
PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 1e308, 2**31, 2**63, 2**64, -(2**63) - 1, "9" * 30),
    *("", " ", "x" * 5000, "é" * 300, "\x00", "\ud800", "None", "10.96.0.1", "1h", "0x10", "{", "$patch"),
    *([], {}, [None], [[]], [{}], ["a", "a"], {"": None}, {"a": {"b": [1]}}),
    *({"$patch": "delete"}, {"$patch": "replace"}, {"$retainKeys": ["a"]}, {"$setElementOrder/ports": [1]}),
    {"$deleteFromPrimitiveList/finalizers": ["x"]},
)
ODD_KEYS = ("x", "kind", "metadata", "spec", "status", "$patch", "", "name", "namespace", "finalizers")
ODD_PARAMETERS = (
    *("limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector"),
    *("dryRun", "fieldManager", "force", "fieldValidation", "pretty", "includeObject", "sendInitialEvents"),
    *("gracePeriodSeconds", "propagationPolicy", "orphanDependents", "timeoutSeconds", "allowWatchBookmarks"),
)
ODD_TEXTS = (
    "",
    "abc",
    "-1",
    "0",
    "1",
    "true",
    "9" * 20,
    "%00",
    "%ff",
    "a%3Db",
    "in%20(",
    "1.5",
    "All",
    "%F0%9F%98%80",
)


@dataclass(frozen=True, slots=True)
class Sample:
    method: str
    path: str
    media: str
    accept: str
    body: Any
    """An object, the text of one, or None."""


@cache
def samples() -> tuple[Sample, ...]:
    """Every recorded request but watches, all in one namespace."""
    found = [sample for corpus in CORPORA for case in cases(corpus) for sample in _samples(case["steps"])]
    return tuple(found)


def _samples(steps: list[dict[str, Any]]) -> Iterator[Sample]:
    for recorded in steps:
        text = re.sub(r"\$\{(rv|uid|ip|continue)\d+\}", "1", json.dumps(recorded))
        step = json.loads(text.replace("${NS}", "default"))
        if "watch=" in step["path"] or "/watch/" in step["path"]:
            continue
        headers = step.get("headers", {})
        media, accept = headers.get("Content-Type", JSON), headers.get("Accept", JSON)
        yield Sample(step["method"], step["path"], media, accept, step.get("body", step.get("rawBody")))


def mutated(sample: Sample, chance: random.Random) -> tuple[str, bytes | None, str]:
    """Path, body and content type of a request like the sample, but not quite."""
    path = _odd_query(sample.path, chance) if chance.random() < 0.2 else sample.path
    body, media = sample.body, sample.media
    if body is None:
        return path, None, media
    if not isinstance(body, str) and chance.random() < 0.9:
        body = _odd_object(body, chance)
    text = body if isinstance(body, str) else json.dumps(body)
    if media == JSON and not isinstance(body, str) and chance.random() < 0.15:
        text, media = yaml.safe_dump(body), YAML
    if isinstance(sample.body, str) or chance.random() < 0.1:
        text = _odd_text(text, chance)
    if chance.random() < 0.03:
        media = chance.choice(
            [JSON, YAML, *PATCHES, "", "text/plain", "application/json;charset=latin-1", "é"]
        )
    return path, text.encode("utf-8", "surrogatepass"), media


def _odd_object(obj: Any, chance: random.Random) -> Any:
    changed = copy.deepcopy(obj)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        place = chance.choice(list(_places(changed)) or [None])
        if place is None:
            return chance.choice(ODD_VALUES)
        _spoil(*place, chance)
    return changed


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of everything inside a value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _spoil(container: Any, key: Any, chance: random.Random) -> None:
    turn = chance.random()
    if turn < 0.7:
        container[key] = copy.deepcopy(chance.choice(ODD_VALUES))
    elif turn < 0.8:
        del container[key]
    elif isinstance(container, dict):
        container[chance.choice(ODD_KEYS)] = copy.deepcopy(chance.choice(ODD_VALUES))
    else:
        container.append(copy.deepcopy(chance.choice(container)))


def _odd_text(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    piece = chance.choice(
        ["", "{", "}", ":", ",", "- ", "&a ", "*a", "\x00", "é", '"', "1e999", "\n", "\t", "---\n"]
    )
    return text[:at] + piece + text[at + chance.randrange(3) :]


def _odd_query(path: str, chance: random.Random) -> str:
    bare, _, query = path.partition("?")
    names = [part.partition("=")[0] for part in query.split("&") if part]
    if not names or chance.random() < 0.5:
        names.append(chance.choice(ODD_PARAMETERS))
    return bare + "?" + "&".join(f"{name}={chance.choice(ODD_TEXTS)}" for name in names)
