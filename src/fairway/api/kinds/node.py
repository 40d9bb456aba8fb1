"""Nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.api.kind import ANY_METHOD, Kind, Obj, Status, Subresource
from fairway.api.kinds.pod_spec.names import validate_qualified_name
from fairway.api.kinds.pod_spec.resources import validate_amount
from fairway.api.kinds.pod_spec.tolerations import validate_effect
from fairway.api.resources import NODES
from fairway.api.validation.addresses import read_cidr
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    forbidden_field,
    invalid_value,
)
from fairway.api.validation.internal_form import shown
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.names import label_value_errors
from fairway.api.validation.network import validate_cidr

NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
FIXED: Final = 'node updates may not change {name} except from "" to valid'
UNIQUE: Final = "taints must be unique by key and effect pair"


def default(node: Obj) -> None:
    """One range may be written either way; both are always shown. What isn't set apart is allocatable."""
    if node.get("spec") is None:
        node["spec"] = {}
    spec = node["spec"]
    first, ranges = spec.get("podCIDR"), spec.get("podCIDRs")
    if first and (not ranges or ranges[0] != first):
        spec["podCIDRs"] = [first]
    elif ranges and not first:
        spec["podCIDR"] = ranges[0]
    status = node.get("status") or {}
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = dict(status["capacity"])


def taint_not_ready(node: Obj) -> None:
    """No Pods until the node has shown that it is ready."""
    taints = node["spec"].get("taints") or []
    if not any((t.get("key"), t.get("effect")) == tuple(NOT_READY.values()) for t in taints):
        node["spec"]["taints"] = [*taints, dict(NOT_READY)]


def validate_taints(field: str, taints: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        place, key, effect = f"{field}[{index}]", taint.get("key", ""), taint.get("effect", "")
        errors += validate_qualified_name(f"{place}.key", key)
        if wrong := label_value_errors(taint.get("value", "")):
            errors.append(invalid_value(f"{place}.value", taint["value"], ";".join(wrong)))
        errors += validate_effect(f"{place}.effect", effect)
        if (key, effect) in seen:
            errors.append(duplicate(place, shown("core.v1.Taint", taint), UNIQUE))
        seen.add((key, effect))
    return errors


def validate(node: Obj) -> ErrorList:
    spec, status = node["spec"], node.get("status") or {}
    # Kubernetes looks for taints in the metadata, where they once were.
    errors = validate_taints("metadata.taints", spec.get("taints") or ())
    errors += _validate_amounts(status)
    errors += _validate_swap(status)
    return errors + _validate_ranges("spec.podCIDRs", spec.get("podCIDRs") or [])


def _validate_swap(status: Obj) -> ErrorList:
    capacity = ((status.get("nodeInfo") or {}).get("swap") or {}).get("capacity")
    if capacity is None or capacity > 0:
        return []
    return [invalid_value("metadata.nodeSwapStatus.capacity", capacity, "must be greater than zero")]


def _validate_amounts(status: Obj) -> ErrorList:
    errors: ErrorList = []
    for part in ("capacity", "allocatable"):
        for name, amount in sorted((status.get(part) or {}).items()):
            errors += validate_amount(f"status.{part}.{name}", name, amount)
    return errors


def _validate_ranges(field: str, ranges: list[str]) -> ErrorList:
    errors: ErrorList = []
    for index, text in enumerate(ranges):
        errors += validate_cidr(f"{field}[{index}]", text)
    families = {parsed.family for text in ranges if (parsed := read_cidr(text)) is not None}
    if len(ranges) > 1 and (len(families) < 2 or len(ranges) > 2):
        detail = "may specify no more than one CIDR for each IP family"
        errors.append(invalid_value(field, ranges, detail))
    return errors


def validate_update(new: Obj, old: Obj) -> ErrorList:
    return validate_kept_finalizers(new["metadata"]) + validate(new) + validate_change(new, old)


def validate_change(new: Obj, old: Obj) -> ErrorList:
    """What is asked of writes to the node and to its status alike."""
    spec, before, status = new["spec"], old.get("spec") or {}, new.get("status") or {}
    errors = _validate_amounts(status) + _validate_addresses(status.get("addresses") or ())
    ranges, old_ranges = spec.get("podCIDRs") or [], before.get("podCIDRs") or []
    if old_ranges:
        different = [True] if len(ranges) != len(old_ranges) else _differences(ranges, old_ranges)
        errors += [forbidden_field("spec.podCIDRs", FIXED.format(name="podCIDR")) for _ in different]
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        errors.append(forbidden_field("spec.providerID", FIXED.format(name="providerID")))
    errors += validate_taints("metadata.taints", spec.get("taints") or ())
    if spec.get("externalID", "") != before.get("externalID", ""):
        errors.append(forbidden_field("spec.externalID", "may not be updated"))
    return errors


def _differences(ranges: list[str], old: list[str]) -> list[bool]:
    return [True for text, before in zip(ranges, old, strict=True) if text != before]


def _validate_addresses(addresses: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(addresses):
        key = (address.get("type", ""), address.get("address", ""))
        if key in seen:
            errors.append(duplicate(f"status.addresses[{index}]", shown("core.v1.NodeAddress", address)))
        seen.add(key)
    return errors


def drop_configuration(node: Obj) -> None:
    """Kubelets were once told through their Nodes how to run."""
    node["spec"].pop("configSource", None)
    (node.get("status") or {}).pop("config", None)


def prepare_update(new: Obj, old: Obj) -> None:
    new["status"] = old.get("status", {})
    if (old.get("spec") or {}).get("configSource") is None:
        new["spec"].pop("configSource", None)


def prepare_status(new: Obj, old: Obj) -> None:
    if (old.get("status") or {}).get("config") is None:
        (new.get("status") or {}).pop("config", None)


def warnings(node: Obj) -> list[str]:
    spec = node.get("spec") or {}
    found = []
    if spec.get("configSource") is not None:
        found.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    return found


NODE = Kind(
    NODES,
    default=default,
    prepare_create=drop_configuration,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    status=Status(validate_update=validate_change, prepare_update=prepare_status),
    fields={
        "spec.unschedulable": lambda node: (
            "true" if (node.get("spec") or {}).get("unschedulable") else "false"
        )
    },
    extra=(Subresource("proxy", "NodeProxyOptions", ANY_METHOD),),
)
