"""Which IP families a Service gets, from its spec and the ranges there are. Pure."""

from __future__ import annotations

import ipaddress

from fairway.api.kind import Obj

SINGLE, PREFER, REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"


def family_of(address: str) -> str:
    return "IPv6" if ipaddress.ip_address(address).version == 6 else "IPv4"


def fill_families(spec: Obj, available: list[str]) -> None:
    """Set ipFamilyPolicy and ipFamilies as Kubernetes would for ranges of these families, in order."""
    given = [address for address in spec.get("clusterIPs") or () if address and address != "None"]
    if not spec.get("ipFamilyPolicy"):
        several = len(given) == 2 or len(spec.get("ipFamilies") or ()) == 2
        spec["ipFamilyPolicy"] = REQUIRE if several else SINGLE
        if is_headless_without_selector(spec) and not several:
            spec["ipFamilyPolicy"] = REQUIRE
    families = list(spec.get("ipFamilies") or ())
    for position, address in enumerate(given):
        if position >= len(families):
            families.append(family_of(address))
    if not families:
        families = [available[0]]
    if len(families) == 1 and spec["ipFamilyPolicy"] != SINGLE:
        other = "IPv4" if families[0] == "IPv6" else "IPv6"
        if other in available or is_headless_without_selector(spec):
            families.append(other)
    spec["ipFamilies"] = families


def is_headless_without_selector(spec: Obj) -> bool:
    return spec.get("clusterIP") == "None" and not spec.get("selector")
