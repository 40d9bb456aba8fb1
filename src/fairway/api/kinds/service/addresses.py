"""Cluster IPs, IP families and the family policy of a Service: whether they fit together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.service.traits import HEADLESS, is_headless, needs_cluster_ip
from fairway.api.validation.addresses import read_ip
from fairway.api.validation.fields import ErrorList, duplicate, invalid_value, not_supported, required
from fairway.api.validation.network import validate_ip

FAMILIES: Final = ("IPv4", "IPv6")
SINGLE, PREFER, REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
POLICIES: Final = (PREFER, REQUIRE, SINGLE)

ADDRESSES_FIELD: Final = "spec.clusterIPs"
FAMILIES_FIELD: Final = "spec.ipFamilies"
POLICY_FIELD: Final = "spec.ipFamilyPolicy"


def family_of(address: str) -> str:
    """The family of an address that is one."""
    return "IPv6" if ":" in address and _is_ipv6(address) else "IPv4"


def _is_ipv6(address: str) -> bool:
    parsed = read_ip(address)
    return parsed is not None and parsed.version == 6


def validate_addresses(spec: Obj, known: Collection[str] = ()) -> ErrorList:
    """Complaints about the linked fields; addresses in `known` were accepted before and stay so."""
    if not needs_cluster_ip(spec):
        return []
    addresses = spec.get("clusterIPs") or []
    families = spec.get("ipFamilies") or []
    errors = _validate_link(spec.get("clusterIP") or "", addresses)
    errors += _validate_families(families)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in POLICIES:
        errors.append(not_supported(POLICY_FIELD, policy, POLICIES))
    malformed = _validate_each(addresses, known)
    errors += malformed
    if len(addresses) > 2:
        errors.append(invalid_value(ADDRESSES_FIELD, addresses, "may only hold up to 2 values"))
    if malformed:
        return errors
    if len(addresses) > 1 and len({family_of(address) for address in addresses}) < 2:
        detail = "may specify no more than one IP for each IP family"
        errors.append(invalid_value(ADDRESSES_FIELD, addresses, detail))
    return errors if is_headless(spec) else errors + _validate_match(addresses, families)


def _validate_link(address: str, addresses: list[str]) -> ErrorList:
    if not address:
        if not addresses:
            return []
        detail = "must be empty when `clusterIP` is not specified"
        return [invalid_value(ADDRESSES_FIELD, addresses, detail)]
    if not addresses:
        return [required(ADDRESSES_FIELD)]
    if addresses[0] == address:
        return []
    return [invalid_value(ADDRESSES_FIELD, addresses, "first value must match `clusterIP`")]


def _validate_families(families: list[str]) -> ErrorList:
    errors: ErrorList = []
    for index, name in enumerate(families):
        if name not in FAMILIES:
            errors.append(not_supported(f"{FAMILIES_FIELD}[{index}]", name, FAMILIES))
        if name in families[:index]:
            errors.append(duplicate(f"{FAMILIES_FIELD}[{index}]", name))
    return errors


def _validate_each(addresses: list[str], known: Collection[str]) -> ErrorList:
    errors: ErrorList = []
    for index, address in enumerate(addresses):
        if index == 0 and address == HEADLESS:
            if len(addresses) > 1:
                detail = "'None' must be the first and only value"
                errors.append(invalid_value(ADDRESSES_FIELD, addresses, detail))
        elif address not in known:
            errors += validate_ip(f"{ADDRESSES_FIELD}[{index}]", address)
    return errors


def _validate_match(addresses: list[str], families: list[str]) -> ErrorList:
    errors: ErrorList = []
    for index, (address, name) in enumerate(zip(addresses, families, strict=False)):
        if name in FAMILIES and family_of(address) != name:
            detail = f"expected an {name} value as indicated by `ipFamilies[{index}]`"
            errors.append(invalid_value(f"{ADDRESSES_FIELD}[{index}]", address, detail))
    return errors
