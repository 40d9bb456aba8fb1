"""The status of a Service: what load balancers may say there."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.service.traits import LOAD_BALANCER
from fairway.api.validation.addresses import read_ip
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.names import dns_subdomain_errors
from fairway.api.validation.network import ip_warnings, validate_ip

MODES: Final = frozenset({"Proxy", "VIP"})
FIELD: Final = "status.loadBalancer.ingress"


def validate_status(new: Obj, old: Obj) -> ErrorList:
    points = _ingress(new)
    if not points:
        return []
    if new["spec"].get("type") != LOAD_BALANCER:
        return [forbidden_field(FIELD, "may only be used when `spec.type` is 'LoadBalancer'")]
    known = {point.get("ip") for point in _ingress(old)}
    errors: ErrorList = []
    for index, point in enumerate(points):
        errors += validate_point(f"{FIELD}[{index}]", point, known, with_mode=True)
    return errors


def validate_point(
    field: str, point: Obj, known: Collection[str | None] = (), *, with_mode: bool = False
) -> ErrorList:
    """One way in from outside, as Services and Ingresses have them: an address or a name."""
    address, name = point.get("ip") or "", point.get("hostname") or ""
    errors = validate_ip(f"{field}.ip", address) if address and address not in known else []
    if with_mode:
        errors += _validate_mode(f"{field}.ipMode", point.get("ipMode"), bool(address))
    if name:
        errors += invalid_for_each(f"{field}.hostname", name, dns_subdomain_errors(name))
        if read_ip(name) is not None:
            detail = "must be a DNS name, not an IP address"
            errors.append(invalid_value(f"{field}.hostname", name, detail))
    return errors


def _validate_mode(field: str, mode: str | None, has_address: bool) -> ErrorList:
    if mode is None:
        return [required(field, "must be specified when `ip` is set")] if has_address else []
    if not has_address:
        return [forbidden_field(field, "may not be specified when `ip` is not set")]
    return [] if mode in MODES else [not_supported(field, mode, MODES)]


def status_warnings(service: Obj) -> list[str]:
    found: list[str] = []
    for index, point in enumerate(_ingress(service)):
        if point.get("ip"):
            found += ip_warnings(f"{FIELD}[{index}]", point["ip"])
    return found


def _ingress(service: Obj) -> list[Obj]:
    return ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
