"""Complaints are word for word those of a real kube-apiserver 1.37 on the recorded requests.

Set FAIRWAY_GOLDEN to read the recordings from another folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.api.validation import names as n
from fairway.api.validation.fields import NO_VALUE, ErrorList, Fault, FieldError, invalid
from fairway.api.validation.metadata import validate_metadata
from fairway.api.validation.network import (
    validate_cidr,
    validate_ip,
    validate_port,
    validate_port_number,
    validate_reachable_ip,
)

GOLDEN = Path(os.environ.get("FAIRWAY_GOLDEN", Path(__file__).parents[3] / "conformance" / "golden"))
FAULTS = {fault.reason: fault for fault in Fault if fault is not Fault.TYPE_INVALID}
PADDING = re.compile(r"\$\{pad(\d+)\}")
Step = dict[str, Any]


def recorded_steps() -> Iterator[tuple[str, Step]]:
    for file in ("api.jsonl", "api-dualstack.jsonl"):
        if (GOLDEN / file).exists():
            for line in (GOLDEN / file).read_text().splitlines():
                case = json.loads(PADDING.sub(lambda found: "a" * int(found[1]), line))
                for number, step in enumerate(case["steps"]):
                    yield f"{case['id']}#{number}", step


STEPS = list(recorded_steps())
REFUSED = [
    (name, step["expect"]["body"])
    for name, step in STEPS
    if step["expect"]["status"] == 422 and (step["expect"]["body"].get("details") or {}).get("causes")
]
CREATED = [
    (name, step)
    for name, step in STEPS
    if step["method"] == "POST"
    and step["expect"]["status"] in (201, 422)
    and isinstance((step.get("body") or {}).get("metadata"), dict)
    and step["path"].count("/") != 7
]
needs_recordings = pytest.mark.skipif(not STEPS, reason="no recordings here")


def parsed(cause: dict[str, str]) -> FieldError:
    """The field error that a recorded cause came from."""
    fault = FAULTS[cause["reason"]]
    rest = cause["message"].removeprefix(fault.title).removeprefix(": ")
    value: Any = NO_VALUE
    if fault not in (Fault.REQUIRED, Fault.FORBIDDEN, Fault.TOO_LONG):
        value, end = json.JSONDecoder().raw_decode(rest)
        rest = rest[end:].removeprefix(": ")
    return FieldError(fault, cause["field"], value, rest)


def is_plain(body: dict[str, Any]) -> bool:
    """Placeholders inside values stand for numbers, so those answers can't be parsed."""
    return "<nodePort" not in body["message"] and all("reason" in c for c in body["details"]["causes"])


@needs_recordings
@pytest.mark.parametrize(
    "body", [body for _, body in REFUSED if is_plain(body)], ids=[n for n, body in REFUSED if is_plain(body)]
)
def test_a_recorded_refusal_is_rebuilt_from_its_causes(body: dict[str, Any]) -> None:
    details = body["details"]
    errors = [parsed(cause) for cause in details["causes"]]
    kind, group, name = (details.get(key, "") for key in ("kind", "group", "name"))
    assert invalid(kind, group, name, errors).body() == body


def ip_name(name: str, prefix: bool) -> list[str]:
    return [error.detail for error in validate_ip("", name, must_be_canonical=True)]


NAME_RULES: dict[str, n.NameErrors] = {
    "Service": n.label_name,
    "Namespace": n.label_name,
    "IPAddress": ip_name,
    "Role": n.path_segment_name,
    "RoleBinding": n.path_segment_name,
    "ClusterRole": n.path_segment_name,
    "ClusterRoleBinding": n.path_segment_name,
}
CHECKED_METADATA = re.compile(
    r"metadata\.(name|generateName|labels|annotations|ownerReferences|finalizers)(\[\d+\](\.\w+)?)?$"
)


def metadata_of(step: Step) -> ErrorList:
    body = step["body"]
    metadata = dict(body["metadata"])
    namespaced = "/namespaces/" in step["path"]
    metadata.pop("namespace", None)
    if namespaced:
        metadata["namespace"] = "ns"
    if metadata.get("generateName"):
        metadata["name"] = metadata.get("name") or f"{metadata['generateName']}abcde"
    if body["kind"] == "Namespace" and metadata.get("name"):
        labels = metadata.get("labels") or {}
        metadata["labels"] = {**labels, "kubernetes.io/metadata.name": metadata["name"]}
    rule = NAME_RULES.get(body["kind"], n.subdomain_name)
    return validate_metadata(
        json.loads(json.dumps(metadata).replace("${NS}", "ns")), namespaced=namespaced, name_errors=rule
    )


@needs_recordings
@pytest.mark.parametrize("step", [step for _, step in CREATED], ids=[name for name, _ in CREATED])
def test_metadata_that_was_sent_is_judged_as_recorded(step: Step) -> None:
    causes = (step["expect"]["body"].get("details") or {}).get("causes") or []
    expected = [cause for cause in causes if CHECKED_METADATA.match(cause["field"])]
    assert [error.cause() for error in metadata_of(step)] == expected


Rule = Callable[[Any], list[str]]


def details_of(validate: Callable[[str, Any], ErrorList]) -> Rule:
    return lambda value: [error.detail for error in validate("f", value)]


RULES: dict[str, Rule] = {
    "a lowercase RFC 1123 subdomain": n.dns_subdomain_errors,
    "a lowercase RFC 1123 label": n.dns_label_errors,
    "must not contain dots": n.dns_label_errors,
    "a valid label must be": n.label_value_errors,
    "name part": n.qualified_name_errors,
    "prefix part": n.qualified_name_errors,
    "must be between 1 and 65535": details_of(validate_port_number),
    "must contain": details_of(validate_port),
    "must be a valid IP address, (e.g.": details_of(validate_ip),
    "must not have leading 0s": details_of(validate_ip),
    "must not be an IPv4-mapped": details_of(validate_ip),
    "must be a valid CIDR": details_of(validate_cidr),
    "must not have bits set": details_of(validate_cidr),
    "may not be in the": details_of(validate_reachable_ip),
    "may not be unspecified": details_of(validate_reachable_ip),
    "must be no more than 63 bytes": n.label_value_errors,
    "must be no more than 63 characters": n.dns_label_errors,
    "must be no more than 253 characters": n.dns_subdomain_errors,
    "a valid environment variable": n.environment_name_errors,
    "a valid percent string": n.percent_errors,
}
# The host of an Ingress is shown without its wildcard, and in some lists the value is the whole list.
JUDGED = [
    (error, rule)
    for _, body in REFUSED
    if is_plain(body)
    for error in map(parsed, body["details"]["causes"])
    for start, rule in RULES.items()
    if error.detail.startswith(start) and error.type is Fault.INVALID and isinstance(error.value, str | int)
]


@needs_recordings
@pytest.mark.parametrize(("error", "rule"), JUDGED, ids=[f"{e.field}-{e.value}"[:60] for e, _ in JUDGED])
def test_a_recorded_value_is_refused_with_the_recorded_words(error: FieldError, rule: Rule) -> None:
    assert error.detail in rule(error.value)
