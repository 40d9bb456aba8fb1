"""EndpointSlices: the addresses behind a Service, a hundred at a time.

What Kubernetes checks by declaration (required, how many, unchangeable) it reports after everything else,
and so does this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from fairway.api.kind import Kind, Obj
from fairway.api.kinds.service.addresses import family_of
from fairway.api.resources import ENDPOINT_SLICES
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
    too_many,
)
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.names import (
    dns_label_errors,
    dns_subdomain_errors,
    label_value_errors,
    qualified_name_errors,
)
from fairway.api.validation.network import PROTOCOLS, ip_warnings, validate_ip, validate_reachable_ip
from fairway.api.validation.values import IMMUTABLE

ADDRESS_TYPES: Final = frozenset({"IPv4", "IPv6", "FQDN"})
MOST_ENDPOINTS: Final = 1000
MOST_ADDRESSES: Final = 100
MOST_PORTS: Final = 20000
MOST_HINTS: Final = 8
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
CONTROLLERS: Final = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


def default(endpoint_slice: Obj) -> None:
    for port in endpoint_slice.get("ports") or ():
        if port.get("name") is None:
            port["name"] = ""
        if port.get("protocol") is None:
            port["protocol"] = "TCP"


def prepare_create(endpoint_slice: Obj) -> None:
    """The old form of topology can't be written any more."""
    for endpoint in endpoint_slice.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def prepare_update(new: Obj, old: Obj) -> None:
    """Which Service a slice belongs to is said in its labels, so they count as desired state."""
    prepare_create(new)
    metadata, before = new["metadata"], old["metadata"]
    if (metadata.get("labels") or {}) != (before.get("labels") or {}):
        metadata["generation"] = before.get("generation", 0) + 1


def validate(endpoint_slice: Obj) -> ErrorList:
    kind = endpoint_slice.get("addressType") or ""
    errors = _validate_contents(endpoint_slice, ())
    if not kind:
        errors.append(required("addressType"))
    elif kind not in ADDRESS_TYPES:
        errors.append(not_supported("addressType", kind, ADDRESS_TYPES))
    return errors + _validate_counts(endpoint_slice)


def validate_update(new: Obj, old: Obj) -> ErrorList:
    known = {
        address for endpoint in old.get("endpoints") or () for address in endpoint.get("addresses") or ()
    }
    errors = validate_kept_finalizers(new["metadata"]) + _validate_contents(new, known)
    if (new.get("addressType") or "") != old["addressType"]:
        errors.append(invalid_value("addressType", None, IMMUTABLE))
        if not new.get("addressType"):
            errors.append(required("addressType"))
    return errors + _validate_counts(new)


def _validate_contents(endpoint_slice: Obj, known: Collection[str]) -> ErrorList:
    endpoints = endpoint_slice.get("endpoints") or []
    if len(endpoints) > MOST_ENDPOINTS:
        errors = [too_many("endpoints", len(endpoints), MOST_ENDPOINTS)]
    else:
        errors = _validate_endpoints(endpoints, endpoint_slice.get("addressType") or "", known)
    return errors + _validate_ports(endpoint_slice.get("ports") or [])


def _validate_counts(endpoint_slice: Obj) -> ErrorList:
    errors: ErrorList = []
    for index, endpoint in enumerate(endpoint_slice.get("endpoints") or ()):
        addresses = endpoint.get("addresses") or ()
        if not addresses:
            errors.append(required(f"endpoints[{index}].addresses"))
        elif len(addresses) > MOST_ADDRESSES:
            errors.append(too_many(f"endpoints[{index}].addresses", len(addresses), MOST_ADDRESSES))
    return errors


def _validate_endpoints(endpoints: list[Obj], kind: str, known: Collection[str]) -> ErrorList:
    errors: ErrorList = []
    for index, endpoint in enumerate(endpoints):
        field = f"endpoints[{index}]"
        for position, address in enumerate(endpoint.get("addresses") or ()):
            errors += _validate_address(f"{field}.addresses", position, address, kind, known)
        node = endpoint.get("nodeName")
        if node is not None:
            errors += invalid_for_each(f"{field}.nodeName", node, dns_subdomain_errors(node))
        name = endpoint.get("hostname")
        if name is not None:
            errors += invalid_for_each(f"{field}.hostname", name, dns_label_errors(name))
        if endpoint.get("hints"):
            errors += _validate_hints(f"{field}.hints", endpoint["hints"])
    return errors


def _validate_address(
    field: str, position: int, address: str, kind: str, known: Collection[str]
) -> ErrorList:
    where = f"{field}[{position}]"
    if kind == "FQDN":
        return _validate_full_name(where, address)
    if kind not in ADDRESS_TYPES:
        return []
    malformed = [] if address in known else validate_ip(where, address)
    if malformed:
        return malformed
    errors: ErrorList = []
    if family_of(address) != kind:
        errors.append(invalid_value(field, address, f"must be an {kind} address"))
    return errors + validate_reachable_ip(where, address)


def _validate_full_name(field: str, name: str) -> ErrorList:
    """A domain name of two labels at least; a dot at its end is allowed."""
    if not name:
        return [required(field)]
    name = name.removesuffix(".")
    if errors := dns_subdomain_errors(name):
        return [invalid_value(field, name, ",".join(errors))]
    labels = name.split(".")
    if len(labels) < 2:
        return [invalid_value(field, name, "should be a domain with at least two segments separated by dots")]
    for label in labels:
        if errors := dns_label_errors(label):
            return [invalid_value(field, label, ",".join(errors))]
    return []


def _validate_hints(field: str, hints: Obj) -> ErrorList:
    errors = _validate_names(f"{field}.forZones", hints.get("forZones") or [], label_value_errors)
    if hints.get("forNodes"):
        errors += _validate_names(f"{field}.forNodes", hints["forNodes"], dns_subdomain_errors)
    return errors


def _validate_names(field: str, entries: list[Obj], name_errors: Callable[[str], list[str]]) -> ErrorList:
    if len(entries) > MOST_HINTS:
        return [too_many(field, len(entries), MOST_HINTS)]
    errors: ErrorList = []
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        name = entry.get("name") or ""
        if name in seen:
            errors.append(duplicate(f"{field}[{index}].name", name))
        seen.add(name)
        errors += invalid_for_each(f"{field}[{index}].name", name, name_errors(name))
    return errors


def _validate_ports(ports: list[Obj]) -> ErrorList:
    if len(ports) > MOST_PORTS:
        return [too_many("ports", len(ports), MOST_PORTS)]
    errors: ErrorList = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        field, name = f"ports[{index}]", port["name"]
        if name:
            errors += invalid_for_each(f"{field}.name", name, dns_label_errors(name))
        if name in names:
            errors.append(duplicate(f"{field}.name", name))
        names.add(name)
        if port["protocol"] not in PROTOCOLS:
            errors.append(not_supported(f"{field}.protocol", port["protocol"], PROTOCOLS))
        protocol = port.get("appProtocol")
        if protocol is not None:
            errors += invalid_for_each(f"{field}.appProtocol", protocol, qualified_name_errors(protocol))
    return errors


def warnings(endpoint_slice: Obj) -> list[str]:
    found = address_warnings(endpoint_slice)
    if endpoint_slice.get("addressType") == "FQDN":
        found.insert(0, "spec.addressType: FQDN endpoints are deprecated")
    return found


def address_warnings(endpoint_slice: Obj) -> list[str]:
    """Controllers write addresses as they should be, and write most slices."""
    if (endpoint_slice["metadata"].get("labels") or {}).get(MANAGED_BY) in CONTROLLERS:
        return []
    return [
        warning
        for index, endpoint in enumerate(endpoint_slice.get("endpoints") or ())
        for position, address in enumerate(endpoint.get("addresses") or ())
        for warning in ip_warnings(f"endpoints[{index}].addresses[{position}]", address)
    ]


ENDPOINT_SLICE = Kind(
    ENDPOINT_SLICES,
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    update_warnings=lambda new, old: address_warnings(new),
    generation=True,
)
