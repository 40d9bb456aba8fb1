"""Endpoints: the addresses behind a Service, in the form of old."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from fairway.api.kind import Kind, Obj
from fairway.api.resources import ENDPOINTS as RESOURCE
from fairway.api.validation.fields import (
    ErrorList,
    invalid_for_each,
    not_supported,
    required,
)
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.names import dns_label_errors, dns_subdomain_errors, qualified_name_errors
from fairway.api.validation.network import (
    PROTOCOLS,
    ip_warnings,
    validate_ip,
    validate_port_number,
    validate_reachable_ip,
)

ADDRESS_LISTS: Final = ("addresses", "notReadyAddresses")
MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
CONTROLLER: Final = "endpoint-controller"


def default(endpoints: Obj) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def validate(endpoints: Obj) -> ErrorList:
    return _validate_subsets(endpoints, ())


def validate_update(new: Obj, old: Obj) -> ErrorList:
    known = {
        address.get("ip")
        for subset in old.get("subsets") or ()
        for name in ADDRESS_LISTS
        for address in subset.get(name) or ()
    }
    return validate_kept_finalizers(new["metadata"]) + _validate_subsets(new, known)


def _validate_subsets(endpoints: Obj, known: Collection[str | None]) -> ErrorList:
    errors: ErrorList = []
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        field = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(field, "must specify `addresses` or `notReadyAddresses`"))
        for name in ADDRESS_LISTS:
            for position, address in enumerate(subset.get(name) or ()):
                errors += _validate_address(f"{field}.{name}[{position}]", address, known)
        ports = subset.get("ports") or []
        for position, port in enumerate(ports):
            errors += _validate_port(f"{field}.ports[{position}]", port, len(ports) > 1)
    return errors


def _validate_address(field: str, address: Obj, known: Collection[str | None]) -> ErrorList:
    ip = address.get("ip") or ""
    errors = [] if ip in known else validate_ip(f"{field}.ip", ip)
    if name := address.get("hostname"):
        errors += invalid_for_each(f"{field}.hostname", name, dns_label_errors(name))
    node = address.get("nodeName")
    if node is not None:
        errors += invalid_for_each(f"{field}.nodeName", node, dns_subdomain_errors(node))
    return errors + validate_reachable_ip(f"{field}.ip", ip)


def _validate_port(field: str, port: Obj, needs_name: bool) -> ErrorList:
    errors: ErrorList = []
    if name := port.get("name"):
        errors += invalid_for_each(f"{field}.name", name, dns_label_errors(name))
    elif needs_name:
        errors.append(required(f"{field}.name"))
    errors += validate_port_number(f"{field}.port", port["port"])
    if port["protocol"] not in PROTOCOLS:
        errors.append(not_supported(f"{field}.protocol", port["protocol"], PROTOCOLS))
    protocol = port.get("appProtocol")
    if protocol is not None:
        errors += invalid_for_each(f"{field}.appProtocol", protocol, qualified_name_errors(protocol))
    return errors


def warnings(endpoints: Obj) -> list[str]:
    """The controller that makes most Endpoints writes addresses as they should be."""
    if (endpoints["metadata"].get("labels") or {}).get(MANAGED_BY) == CONTROLLER:
        return []
    return [
        warning
        for index, subset in enumerate(endpoints.get("subsets") or ())
        for name in ADDRESS_LISTS
        for position, address in enumerate(subset.get(name) or ())
        for warning in ip_warnings(f"subsets[{index}].{name}[{position}].ip", address.get("ip") or "")
    ]


ENDPOINTS = Kind(
    RESOURCE,
    default=default,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    create_on_update=True,
)
