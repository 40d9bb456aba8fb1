"""Which IP families a Service gets, from what it says and the families the cluster has. Pure.

A Service changes between one family and two only when it is told to; so what is missing is taken from the
stored Service first, and only then from the cluster.
"""

from __future__ import annotations

from fairway.api.kind import Obj
from fairway.api.kinds.service.addresses import (
    ADDRESSES_FIELD,
    FAMILIES_FIELD,
    POLICY_FIELD,
    PREFER,
    REQUIRE,
    SINGLE,
    family_of,
    validate_addresses,
)
from fairway.api.kinds.service.traits import HEADLESS, needs_cluster_ip
from fairway.api.validation.fields import ErrorList, invalid_value

Families = tuple[str, ...]
"""The families of the cluster, the first one the default."""


def fill_families(spec: Obj, before: Obj | None, available: Families) -> ErrorList:
    """Set ipFamilyPolicy and ipFamilies; what is wrong with them, if they can't be."""
    if not needs_cluster_ip(spec) or (before is not None and prefers_the_same(spec, before)):
        return []
    if before is None and says_nothing(spec):
        spec["ipFamilyPolicy"], spec["ipFamilies"] = SINGLE, [available[0]]
        return []
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = _missing_policy(spec, before)
    errors = validate_addresses(spec, (before or {}).get("clusterIPs") or ())
    if errors:
        return errors
    errors = _release(spec, before) if before is not None else []
    errors += _demand_two(spec)
    errors += _infer(spec, available)
    if errors:
        return errors
    if spec.get("clusterIP") == HEADLESS and not spec.get("selector"):
        _fill_headless(spec, available)
        return []
    return _fill(spec, available)


def says_nothing(spec: Obj) -> bool:
    """The usual case: addresses, families and policy are all left to the cluster."""
    given = spec.get("clusterIP") or spec.get("clusterIPs") or spec.get("ipFamilies")
    return not given and spec.get("ipFamilyPolicy") is None


def prefers_the_same(spec: Obj, before: Obj) -> bool:
    """A Service that merely prefers two families stays as it is when the cluster gains or loses one."""
    policies = (spec.get("ipFamilyPolicy"), before.get("ipFamilyPolicy"))
    return policies == (PREFER, PREFER) and all(
        (spec.get(name) or None) == (before.get(name) or None)
        for name in ("type", "clusterIPs", "ipFamilies")
    )


def _missing_policy(spec: Obj, before: Obj | None) -> str:
    if before is not None and before.get("ipFamilyPolicy"):
        return str(before["ipFamilyPolicy"])
    # Nobody knows of which families the endpoints are that someone else provides.
    return REQUIRE if spec.get("clusterIP") == HEADLESS and not spec.get("selector") else SINGLE


def _release(spec: Obj, before: Obj) -> ErrorList:
    """One of two is given up by asking for one family, and by nothing else."""
    errors: ErrorList = []
    for name, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        new, old = spec.get(name) or [], before.get(name) or []
        if spec["ipFamilyPolicy"] == SINGLE:
            if new == old and len(new) > 1:
                spec[name] = new[:1]
        elif new and len(new) < len(old):
            detail = f"must be 'SingleStack' to release the secondary {what}"
            errors.append(invalid_value(POLICY_FIELD, spec["ipFamilyPolicy"], detail))
    return errors


def _demand_two(spec: Obj) -> ErrorList:
    if spec["ipFamilyPolicy"] != SINGLE:
        return []
    return [
        invalid_value(
            POLICY_FIELD,
            SINGLE,
            f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified",
        )
        for name, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
        if len(spec.get(name) or ()) == 2
    ]


def _infer(spec: Obj, available: Families) -> ErrorList:
    """Families that follow from the addresses."""
    errors: ErrorList = []
    families = list(spec.get("ipFamilies") or ())
    addresses = spec.get("clusterIPs") or []
    for index, address in enumerate(addresses):
        if address == HEADLESS:
            break
        if index < len(families):
            continue
        family = family_of(address)
        if family in available:
            families.append(family)
        else:
            detail = f"{family} is not configured on this cluster"
            errors.append(invalid_value(f"{ADDRESSES_FIELD}[{index}]", addresses, detail))
    if families:
        spec["ipFamilies"] = families
    return errors


def _fill_headless(spec: Obj, available: Families) -> None:
    """Without a selector, endpoints may be of families that the cluster itself doesn't have."""
    families = list(spec.get("ipFamilies") or available[:1])
    if len(families) < 2 and spec["ipFamilyPolicy"] != SINGLE:
        families.append(other_family(families[0]))
    spec["ipFamilies"] = families


def _fill(spec: Obj, available: Families) -> ErrorList:
    errors: ErrorList = []
    if spec["ipFamilyPolicy"] == REQUIRE and len(available) < 2:
        detail = "this cluster is not configured for dual-stack services"
        errors.append(invalid_value(POLICY_FIELD, REQUIRE, detail))
    families = list(spec.get("ipFamilies") or available[:1])
    errors += [
        invalid_value(f"{FAMILIES_FIELD}[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(families)
        if family not in available
    ]
    if len(families) == 1 and len(available) == 2 and spec["ipFamilyPolicy"] != SINGLE:
        families.append(other_family(families[0]))
    spec["ipFamilies"] = families
    return errors


def other_family(family: str) -> str:
    return "IPv6" if family == "IPv4" else "IPv4"
