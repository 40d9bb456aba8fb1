"""ServiceCIDRs and IPAddresses: the ranges cluster IPs come from, and the addresses that are taken."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj, Status
from fairway.api.kinds.networking.references import validate_group, validate_segment
from fairway.api.resources import IP_ADDRESSES, SERVICE_CIDRS
from fairway.api.validation.addresses import read_cidr
from fairway.api.validation.fields import ErrorList, invalid_value, required
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.network import validate_cidr, validate_ip
from fairway.api.validation.values import IMMUTABLE

CIDRS_FIELD = "spec.cidrs"
PARENT_FIELD = "spec.parentRef"


def cidrs_of(service_cidr: Obj) -> list[str]:
    return (service_cidr.get("spec") or {}).get("cidrs") or []


def prepare_range(service_cidr: Obj) -> None:
    service_cidr["status"] = {}


def validate_range(service_cidr: Obj) -> ErrorList:
    cidrs = cidrs_of(service_cidr)
    if not cidrs:
        return [required(CIDRS_FIELD, "at least one CIDR required")]
    if len(cidrs) > 2:
        return [invalid_value(CIDRS_FIELD, {"CIDRs": cidrs}, "may only hold up to 2 values")]
    if len(cidrs) == 2 and not _is_dual_stack(cidrs):
        detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        return [invalid_value(CIDRS_FIELD, cidrs, detail)]
    return [
        error
        for index, cidr in enumerate(cidrs)
        for error in validate_cidr(f"{CIDRS_FIELD}[{index}]", cidr, must_be_canonical=True)
    ]


def _is_dual_stack(cidrs: list[str]) -> bool:
    parsed = [read_cidr(cidr) for cidr in cidrs]
    return {each.family for each in parsed if each} == {"IPv4", "IPv6"}


def validate_range_update(new: Obj, old: Obj) -> ErrorList:
    """A range may be given its counterpart in the other family, and nothing else."""
    cidrs, before = cidrs_of(new), cidrs_of(old)
    errors = validate_kept_finalizers(new["metadata"]) + validate_range(new)
    if len(cidrs) != len(before) and (len(before), len(cidrs)) != (1, 2):
        return [*errors, invalid_value(CIDRS_FIELD, cidrs or None, IMMUTABLE)]
    return errors + [
        invalid_value(f"{CIDRS_FIELD}[{index}]", cidr, IMMUTABLE)
        for index, (cidr, was) in enumerate(zip(cidrs, before, strict=False))
        if cidr != was
    ]


def address_name(name: str, prefix: bool) -> list[str]:
    """An IPAddress is named by the address, in the one canonical form."""
    return [error.detail for error in validate_ip("", name, must_be_canonical=True)]


def validate_address(address: Obj) -> ErrorList:
    """What is merely missing is reported last, for Kubernetes checks that by declaration."""
    parent = _parent(address)
    if parent is None:
        return [required(PARENT_FIELD)]
    errors = _validate_parent(parent)
    return errors + [
        required(f"{PARENT_FIELD}.{name}") for name in ("resource", "name") if not parent.get(name)
    ]


def validate_address_update(new: Obj, old: Obj) -> ErrorList:
    parent, before = _parent(new), _parent(old)
    errors = validate_kept_finalizers(new["metadata"])
    if parent == before:
        return errors
    errors += _validate_parent(parent or {})
    errors.append(invalid_value(PARENT_FIELD, None, IMMUTABLE))
    return errors if parent is not None else [*errors, required(PARENT_FIELD)]


def _parent(address: Obj) -> Obj | None:
    parent: Obj | None = (address.get("spec") or {}).get("parentRef")
    return parent


def _validate_parent(parent: Obj) -> ErrorList:
    errors: ErrorList = []
    if group := parent.get("group"):
        errors += validate_group(f"{PARENT_FIELD}.group", group)
    for name in ("resource", "name", "namespace"):
        if text := parent.get(name):
            errors += validate_segment(f"{PARENT_FIELD}.{name}", text)
    return errors


SERVICE_CIDR = Kind(
    SERVICE_CIDRS,
    prepare_create=prepare_range,
    validate=validate_range,
    validate_update=validate_range_update,
    status=Status(),
)
IP_ADDRESS = Kind(
    IP_ADDRESSES,
    validate=validate_address,
    validate_update=validate_address_update,
    name_errors=address_name,
    fields={"spec.parentRef.resource": lambda address: (_parent(address) or {}).get("resource", "")},
)
