"""Requests and limits: which resources there are, and how one goes with the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.names import validate_label
from fairway.api.kinds.pod_spec.pod_resources import aggregate, is_huge_page, is_pod_level
from fairway.api.schema.quantity import value_of
from fairway.api.validation.fields import (
    ErrorList,
    Fault,
    FieldError,
    duplicate,
    forbidden_field,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.names import qualified_name_errors
from fairway.api.validation.values import NEGATIVE

CONTAINER_RESOURCES: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
STANDARD: Final = CONTAINER_RESOURCES | {
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
}
# Counted in whole numbers.
WHOLE: Final = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
NOT_WHOLE: Final = "must be an integer"

NameCheck = Callable[[str, str], ErrorList]


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    if is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name_errors(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_page(name)


def validate_resource_name(field: str, name: str) -> ErrorList:
    if errors := invalid_for_each(field, name, qualified_name_errors(name)):
        return errors
    if "/" not in name and name not in STANDARD and not is_huge_page(name):
        return [invalid_value(field, name, "must be a standard resource type or fully qualified")]
    return []


def validate_container_resource_name(field: str, name: str) -> ErrorList:
    if name in CONTAINER_RESOURCES:
        return []
    errors = validate_resource_name(field, name)
    if "/" not in name:
        if not is_huge_page(name):
            errors.append(invalid_value(field, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid_value(field, name, "doesn't follow extended resource name standard"))
    return errors


def validate_pod_resource_name(field: str, name: str) -> ErrorList:
    errors = validate_resource_name(field, name)
    if errors or is_pod_level(name):
        return errors
    return [not_supported(field, name, {"cpu", "memory", "hugepages-"})]


def validate_amount(field: str, name: str, amount: str) -> ErrorList:
    value = value_of(amount)
    errors: ErrorList = [invalid_value(field, amount, NEGATIVE)] if value < 0 else []
    if (name in WHOLE or is_extended(name)) and value % 1:
        errors.append(invalid_value(field, amount, NOT_WHOLE))
    return errors


def validate_resources(
    field: str,
    resources: Obj,
    claims: AbstractSet[str],
    check: NameCheck = validate_container_resource_name,
) -> ErrorList:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    errors: ErrorList = []
    for name, amount in sorted(limits.items()):
        errors += _validate_entry(f"{field}.limits[{name}]", name, amount, check)
    for name, amount in sorted(requests.items()):
        errors += _validate_entry(f"{field}.requests[{name}]", name, amount, check, limits, field)
    names = {*limits, *requests}
    if any(map(is_huge_page, names)) and not names & {"cpu", "memory"}:
        errors.append(forbidden_field(field, "HugePages require cpu or memory"))
    if wanted := resources.get("claims"):
        errors += _validate_claims(f"{field}.claims", wanted, claims)
    return errors


def _validate_entry(
    field: str, name: str, amount: str, check: NameCheck, limits: Obj | None = None, parent: str = ""
) -> ErrorList:
    errors = check(field, name) + validate_amount(field, name, amount)
    if limits is not None:
        errors += _validate_request(parent, name, amount, limits)
    if is_huge_page(name) and not _divides(name, amount):
        detail = f"{amount} is not positive integer multiple of {name}"
        errors.append(invalid_value(field, amount, detail))
    return errors


def _validate_request(field: str, name: str, amount: str, limits: Obj) -> ErrorList:
    if name not in limits:
        if may_overcommit(name):
            return []
        return [required(f"{field}.limits", "Limit must be set for non overcommitable resources")]
    limit = limits[name]
    if value_of(amount) != value_of(limit) and not may_overcommit(name):
        detail = f"must be equal to {name} limit of {limit}"
        return [invalid_value(f"{field}.requests", amount, detail)]
    if value_of(amount) > value_of(limit):
        detail = f"must be less than or equal to {name} limit of {limit}"
        return [invalid_value(f"{field}.requests", amount, detail)]
    return []


def _divides(name: str, amount: str) -> bool:
    size = value_of(name.removeprefix("hugepages-"))
    return value_of(amount) >= 0 and size > 0 and value_of(amount) % size == 0


def _validate_claims(field: str, wanted: Sequence[Obj], known: AbstractSet[str]) -> ErrorList:
    errors: ErrorList = []
    taken: set[str] = set()
    for index, claim in enumerate(wanted):
        place, name, request = f"{field}[{index}]", claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.append(required(place))
            continue
        key = f"{name}/{request}" if request else name
        if request:
            errors += validate_label(f"{place}.request", request)
        clash = name in taken or key in taken
        if clash or (not request and any(other.startswith(f"{name}/") for other in taken)):
            errors.append(duplicate(place, name if name in taken or not request else key))
        taken.add(key)
        if name not in known:
            errors.append(_unknown_claim(place, name, known))
    return errors


def _unknown_claim(field: str, name: str, known: AbstractSet[str]) -> FieldError:
    listed = f": {', '.join(sorted(known))}" if known else " which is empty"
    detail = f"must be one of the names in pod.spec.resourceClaims{listed}"
    return FieldError(Fault.NOT_FOUND, field, name, detail)


def validate_pod_level(field: str, spec: Obj, claims: AbstractSet[str]) -> ErrorList:
    """The Pod's own requests and limits against those of its containers."""
    own = spec["resources"]
    place = f"{field}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden_field(place, "may not be set for a windows pod")]
    errors: ErrorList = []
    if own.get("claims") is not None:
        detail = "claims may not be set for Resources at pod-level"
        errors.append(forbidden_field(f"{place}.claims", detail))
    errors += validate_resources(place, own, claims, validate_pod_resource_name)
    return errors + _validate_sums(place, spec, own)


def _validate_sums(field: str, spec: Obj, own: Obj) -> ErrorList:
    requests, limits = own.get("requests") or {}, own.get("limits") or {}
    errors: ErrorList = []
    for name, amount in sorted(aggregate(spec, "requests").items()):
        if name in requests and value_of(amount) > value_of(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {amount}"
            errors.append(invalid_value(f"{field}.requests[{name}]", requests[name], detail))
    for name, amount in sorted(aggregate(spec, "limits").items()):
        if is_huge_page(name) and name in limits and value_of(amount) > value_of(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {amount}"
            errors.append(invalid_value(f"{field}.limits[{name}]", limits[name], detail))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, amount in sorted(((container.get("resources") or {}).get("limits") or {}).items()):
            if name in limits and value_of(amount) > value_of(limits[name]):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                place = f"{field}.containers[{index}][{name}].limits"
                errors.append(invalid_value(place, amount, detail))
    return errors
