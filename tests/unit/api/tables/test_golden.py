"""Tables are word for word what a real kube-apiserver 1.37 answered to the recorded requests.

No server is needed: the objects that the steps of a case made are taken from the recorded answers.
Set FAIRWAY_GOLDEN to read the recordings from another folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fairway.api import resources as r
from fairway.api.resources import Resource
from fairway.api.tables import TableStream, table

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GOLDEN = Path(os.environ.get("FAIRWAY_GOLDEN", Path(__file__).parents[3] / "conformance" / "golden"))
RESOURCES = {resource.path(): resource for resource in vars(r).values() if isinstance(resource, Resource)}
SCALE = Resource("autoscaling", "v1", "deployments/scale", "Scale")
NODE_PORT = re.compile(r"<nodePort(\d+)>")
Case = dict[str, Any]


def recorded_cases() -> Iterator[Case]:
    for file in ("api.jsonl", "api-dualstack.jsonl"):
        if (GOLDEN / file).exists():
            for line in (GOLDEN / file).read_text().splitlines():
                if "as=Table" in line:
                    yield json.loads(line)


def concrete(value: Any) -> Any:
    """The recording with values in place of those placeholders that printing depends on."""
    if isinstance(value, dict):
        return {key: concrete(each) for key, each in value.items()}
    if isinstance(value, list):
        return [concrete(each) for each in value]
    if not isinstance(value, str):
        return value
    if whole := NODE_PORT.fullmatch(value):
        return 31000 + int(whole[1])
    value = NODE_PORT.sub(lambda found: str(31000 + int(found[1])), value)
    return value.replace("<age>", "0s").replace("<time>", NOW.strftime("%Y-%m-%dT%H:%M:%SZ"))


def address(path: str) -> tuple[Resource, str]:
    """The resource and the name (or nothing) that a path leads to."""
    path = path.partition("?")[0]
    if path.endswith("/scale"):
        return SCALE, path.split("/")[-2]
    shortened = re.sub(r"/namespaces/[^/]+/(?=.)", "/", path) if path.count("/") > 4 else path
    parts = shortened.removesuffix("/status").split("/")
    depth = 4 if parts[1] == "api" else 5
    return RESOURCES["/".join(parts[:depth])], "/".join(parts[depth:])


def object_of_row(resource: Resource, row: dict[str, Any]) -> dict[str, Any]:
    """Objects that no step of a case shows in full, as far as their kind is known to look."""
    metadata, name = row["object"]["metadata"], row["object"]["metadata"]["name"]
    if resource == r.NAMESPACES:
        return {"metadata": metadata, "status": {"phase": "Active"}}
    if resource == r.CONFIG_MAPS:
        return {"metadata": metadata}
    if resource == r.IP_ADDRESSES:
        parent = {"group": "", "resource": "services", "namespace": "${NS}", "name": "a"}
        return {"metadata": metadata, "spec": {"parentRef": parent}}
    if resource == SCALE:
        return {"metadata": metadata, "spec": {"replicas": 1}, "status": {"replicas": 0}}
    raise AssertionError(f"no step shows {resource.kind} {name}")


def find(seen: list[dict[str, Any]], resource: Resource, row: dict[str, Any]) -> dict[str, Any]:
    metadata = row["object"]["metadata"]
    for obj in seen:
        same = all(obj["metadata"].get(key) == metadata.get(key) for key in ("uid", "resourceVersion"))
        if obj["kind"] == resource.kind and same:
            return obj
    return object_of_row(resource, row)


def check_list(step: dict[str, Any], seen: list[dict[str, Any]]) -> None:
    expected, (resource, _) = step["body"], address(step["path"])
    metadata = expected["metadata"]
    made = table(
        resource,
        [find(seen, resource, row) for row in expected["rows"]],
        NOW,
        resource_version=metadata["resourceVersion"],
        continue_token=metadata.get("continue"),
        remaining=metadata.get("remainingItemCount"),
        version=expected["apiVersion"].rpartition("/")[2],
    )
    assert made == expected


def check_watch(step: dict[str, Any], seen: list[dict[str, Any]]) -> None:
    resource, _ = address(step["path"])
    stream = TableStream(resource)
    for event in step["body"]:
        expected = event["object"]
        made = stream.table(find(seen, resource, expected["rows"][0]), NOW)
        made["metadata"] = expected["metadata"]
        assert made == expected


def run(case: Case) -> int:
    """How many Tables of the case were checked."""
    seen: list[dict[str, Any]] = []
    checked = 0
    for step in case["steps"]:
        body = concrete(step["expect"].get("body"))
        if isinstance(body, dict) and body.get("kind") == "Table":
            check_list({"path": step["path"], "body": body}, seen)
            checked += 1
        elif isinstance(body, list) and "as=Table" in (step.get("headers") or {}).get("Accept", ""):
            check_watch({"path": step["path"], "body": body}, seen)
            checked += 1
        elif isinstance(body, dict) and "metadata" in body and body.get("kind") != "Status":
            seen.insert(0, body)
    return checked


CASES = list(recorded_cases())


@pytest.mark.skipif(not CASES, reason="no recordings here")
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_recorded_objects_print_as_recorded(case: Case) -> None:
    errors_only = {"machinery/error-accept-as", "table/error"}
    assert run(case) > 0 or case["id"] in errors_only
