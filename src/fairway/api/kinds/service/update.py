"""Changing a Service: what a change of type clears, and what may not change at all.

A field that merely stayed from the old type does not stand in the way of a new one, for clients send back
what they were given; a field that was changed along with the type is the client's own, and is judged.
"""

from __future__ import annotations

from fairway.api.kind import Obj
from fairway.api.kinds.service.traits import (
    EXTERNAL_NAME,
    is_externally_accessible,
    is_headless,
    is_load_balancer,
    needs_cluster_ip,
    needs_health_check_port,
    needs_node_ports,
    node_ports,
)
from fairway.api.kinds.service.validation import validate_spec
from fairway.api.validation.fields import ErrorList, forbidden_field, invalid_value
from fairway.api.validation.metadata import validate_kept_finalizers

SET_ONCE = "may not change once set"


def prepare_create(service: Obj) -> None:
    service["status"] = {"loadBalancer": {}}


def prepare_update(new: Obj, old: Obj) -> None:
    """Status was taken from the stored object before."""
    clear_unused(new["spec"], old["spec"])
    status = new.get("status") or {}
    if not is_load_balancer(new["spec"]) and status.get("loadBalancer") != {}:
        new["status"] = {**status, "loadBalancer": {}}


def clear_unused(spec: Obj, before: Obj) -> None:
    if needs_cluster_ip(before) and not needs_cluster_ip(spec):
        if _unchanged(spec, before, "clusterIP") and _unchanged(spec, before, "clusterIPs"):
            _clear(spec, "clusterIP", "clusterIPs")
        _clear_unchanged(spec, before, "ipFamilies", "ipFamilyPolicy")
    if (
        needs_node_ports(before)
        and not needs_node_ports(spec)
        and set(node_ports(spec)) <= set(node_ports(before))
    ):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if is_externally_accessible(before) and not is_externally_accessible(spec):
        _clear_unchanged(spec, before, "externalTrafficPolicy")
    if needs_health_check_port(before) and not needs_health_check_port(spec):
        _clear_unchanged(spec, before, "healthCheckNodePort")
    if is_load_balancer(before) and not is_load_balancer(spec):
        _clear_unchanged(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")


def _unchanged(spec: Obj, before: Obj, name: str) -> bool:
    return bool((spec.get(name) or None) == (before.get(name) or None))


def _clear(spec: Obj, *names: str) -> None:
    for name in names:
        spec.pop(name, None)


def _clear_unchanged(spec: Obj, before: Obj, *names: str) -> None:
    for name in names:
        if spec.get(name) == before.get(name):
            spec.pop(name, None)


def validate_update(new: Obj, old: Obj) -> ErrorList:
    spec, before = new["spec"], old["spec"]
    errors = validate_kept_finalizers(new["metadata"])
    if spec["type"] != EXTERNAL_NAME and before["type"] != EXTERNAL_NAME:
        errors += _validate_addresses(spec, before)
        errors += _validate_families(spec, before)
    errors += _validate_class(spec, before)
    if (
        needs_health_check_port(before)
        and needs_health_check_port(spec)
        and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort")
    ):
        errors.append(forbidden_field("spec.healthCheckNodePort", "field is immutable"))
    return errors + validate_spec(new, before)


def _validate_addresses(spec: Obj, before: Obj) -> ErrorList:
    addresses, olds = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if addresses == olds or (is_headless(spec) and is_headless(before)):
        return []
    field = "spec.clusterIPs"
    if len(addresses) == len(olds):
        return [
            invalid_value(f"{field}[{index}]", addresses, SET_ONCE)
            for index, (new, old) in enumerate(zip(addresses, olds, strict=True))
            if new != old
        ]
    if not addresses:
        return [invalid_value(f"{field}[0]", addresses, "primary clusterIP can not be unset")]
    errors: ErrorList = []
    if olds and addresses[0] != olds[0]:
        errors.append(invalid_value(f"{field}[0]", addresses, SET_ONCE))
    if len(addresses) < len(olds):
        errors += _validate_release(spec, len(addresses), "clusterIP")
    return errors


def _validate_families(spec: Obj, before: Obj) -> ErrorList:
    families, olds = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    if families == olds or is_headless(spec) or is_headless(before):
        return []
    field = "spec.ipFamilies[0]"
    if len(families) == len(olds):
        changes = zip(families, olds, strict=True)
        return [invalid_value(field, families, SET_ONCE) for new, old in changes if new != old]
    addresses = spec.get("clusterIPs") or []
    errors: ErrorList = []
    if len(families) < len(olds) and not addresses:
        errors.append(invalid_value(field, families, "primary ipFamily can not be unset"))
    if families and olds and families[0] != olds[0]:
        errors.append(invalid_value(field, addresses, SET_ONCE))
    if len(families) < len(olds):
        errors += _validate_release(spec, len(families), "ipFamily")
    return errors


def _validate_release(spec: Obj, left: int, what: str) -> ErrorList:
    """One of two is given up only by a Service that says that it wants one."""
    policy = spec.get("ipFamilyPolicy")
    if left != 1 or policy == "SingleStack":
        return []
    detail = f"must be set to 'SingleStack' when releasing the secondary {what}"
    return [invalid_value("spec.ipFamilyPolicy", policy, detail)]


def _validate_class(spec: Obj, before: Obj) -> ErrorList:
    if not is_load_balancer(spec) or not is_load_balancer(before):
        return []
    name = spec.get("loadBalancerClass")
    if name == before.get("loadBalancerClass"):
        return []
    return [invalid_value("spec.loadBalancerClass", name, SET_ONCE)]
