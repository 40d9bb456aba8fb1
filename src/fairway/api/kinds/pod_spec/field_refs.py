"""References to fields of a Pod and to resources of its containers, in variables and in volumes."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Final

from fairway.api.kind import Obj
from fairway.api.schema.quantity import canonical, value_of
from fairway.api.validation.fields import (
    ErrorList,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.names import qualified_name_errors

RESOURCES: Final = frozenset(
    f"{part}.{name}" for part in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
# What is called by another name inside Kubernetes, or is nothing it can be asked for.
KNOWN_LABELS: Final = frozenset(
    {
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
CPU_DIVISORS: Final = frozenset({"1m", "1"})
BYTE_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_subscripted: Final = re.compile(r"(.+?)\['(.*)'\]", re.DOTALL).fullmatch


def validate_field_ref(field: str, reference: Obj, supported: AbstractSet[str]) -> ErrorList:
    version, wanted = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    if not version:
        return [required(f"{field}.apiVersion")]
    if not wanted:
        return [required(f"{field}.fieldPath")]
    if fault := _conversion_fault(version, wanted):
        return [invalid_value(f"{field}.fieldPath", wanted, f"error converting fieldPath: {fault}")]
    path = "spec.nodeName" if wanted == "spec.host" else wanted
    if subscript := _subscripted(path):
        return _validate_subscript(field, *subscript.groups())
    return [] if path in supported else [not_supported(f"{field}.fieldPath", path, supported)]


def _conversion_fault(version: str, path: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript := _subscripted(path):
        owner = subscript[1]
        if owner in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {path}"
    known = path in KNOWN_LABELS or path == "spec.host"
    return "" if known else f"field label not supported: {path}"


def _validate_subscript(field: str, owner: str, key: str) -> ErrorList:
    key = key.lower() if owner == "metadata.annotations" else key
    return invalid_for_each(field, key, qualified_name_errors(key))


def validate_resource_ref(field: str, reference: Obj, of_volume: bool) -> ErrorList:
    resource = reference.get("resource", "")
    errors: ErrorList = []
    if of_volume and not reference.get("containerName"):
        errors.append(required(f"{field}.containerName"))
    elif not resource:
        errors.append(required(f"{field}.resource"))
    elif resource not in RESOURCES and not resource.startswith(HUGE_PAGES):
        errors.append(not_supported(f"{field}.resource", resource, RESOURCES))
    return errors + _validate_divisor(field, resource, reference.get("divisor") or "0")


def _validate_divisor(field: str, resource: str, divisor: str) -> ErrorList:
    if value_of(divisor) == 0:
        return []
    name = resource.partition(".")[2]
    if name == "cpu":
        values, what, named = CPU_DIVISORS, "values 1m and 1", "cpu"
    else:
        values, what = frozenset(BYTE_DIVISORS), f"values {', '.join(BYTE_DIVISORS)}"
        named = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(name, "")
        named = "hugepages" if name.startswith("hugepages-") else named
    if not named or canonical(divisor) in values:
        return []
    detail = f"only divisor's {what} are supported with the {named} resource"
    return [invalid_value(f"{field}.divisor", resource, detail)]
