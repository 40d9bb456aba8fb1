"""Addresses, networks and ports in fields: what is refused, and what is merely warned about.

Kubernetes once took addresses as it could read them. Since 1.37 new values have to be strict; values that
were stored before stay accepted, which callers see to by not asking about them.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from fairway.api.validation.addresses import (
    Address,
    family,
    is_mapped,
    is_plain_ipv4,
    is_strict_ip,
    read_cidr,
    read_ip,
)
from fairway.api.validation.fields import ErrorList, invalid_for_each, invalid_value
from fairway.api.validation.names import port_name_errors
from fairway.api.validation.quoting import quoted
from fairway.api.validation.values import validate_range

NOT_AN_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_A_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
HIGHEST_PORT: Final = 65535
PROTOCOLS: Final = frozenset({"TCP", "UDP", "SCTP"})
"""The protocols that ports of Services and endpoints may have."""


def validate_ip(field: str, value: str, *, must_be_canonical: bool = False, only: str = "") -> ErrorList:
    """A single address; `only` is the family it has to be of, `IPv4` or `IPv6`."""
    if only != "IPv6" and is_plain_ipv4(value):
        return []
    address = read_ip(value)
    if address is None:
        return [invalid_value(field, value, NOT_AN_IP)]
    errors: list[str] = []
    if not is_strict_ip(value):
        errors.append("must not have leading 0s")
    elif is_mapped(value):
        errors.append("must not be an IPv4-mapped IPv6 address")
    elif must_be_canonical and value != str(address):
        errors.append(f"must be in canonical form ({quoted(str(address))})")
    if only and family(address) != only:
        errors.append(f"must be an {only} address")
    return invalid_for_each(field, value, errors)


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address.packed[:3] == b"\xe0\x00\x00"
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


SPECIAL_RANGES: Final[dict[str, Callable[[Address], bool]]] = {
    "may not be in the loopback range (127.0.0.0/8, ::1/128)": lambda address: address.is_loopback,
    "may not be in the link-local range (169.254.0.0/16, fe80::/10)": lambda address: address.is_link_local,
    "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)": _is_link_local_multicast,
}


SPECIAL_BEGINNINGS: Final = ("0.", "127.", "169.254.", "224.0.0.")
"""How all IPv4 addresses begin that have to be looked at more closely."""


def validate_reachable_ip(field: str, value: str) -> ErrorList:
    """An address that can be reached from elsewhere, as endpoints and external IPs have to be."""
    if is_plain_ipv4(value) and not value.startswith(SPECIAL_BEGINNINGS):
        return []
    address = read_ip(value)
    if address is None:
        return [invalid_value(field, value, "must be a valid IP address")]
    errors = [f"may not be unspecified ({value})"] if address.is_unspecified else []
    errors += [error for error, holds in SPECIAL_RANGES.items() if holds(address)]
    return invalid_for_each(field, value, errors)


def ip_warnings(field: str, value: str) -> list[str]:
    """What to tell a client whose address is accepted, though it isn't written as it should be."""
    if is_plain_ipv4(value):
        return []
    address = read_ip(value)
    if address is None:
        return []
    if not is_strict_ip(value) or is_mapped(value):
        return [_outdated(field, "IP address", value, str(address))]
    if isinstance(address, IPv6Address) and str(address) != value:
        return [_not_canonical(field, "IPv6 address", value, str(address))]
    return []


def validate_cidr(field: str, value: str, *, must_be_canonical: bool = False, only: str = "") -> ErrorList:
    """A network: an address with a prefix length, and nothing set beyond it."""
    parsed = read_cidr(value)
    if parsed is None:
        return [invalid_value(field, value, NOT_A_CIDR)]
    errors: list[str] = []
    if not parsed.is_strict:
        errors.append("must not have leading 0s in IP or prefix length")
    elif parsed.is_mapped:
        errors.append("must not have an IPv4-mapped IPv6 address")
    elif not parsed.is_network:
        errors.append("must not have bits set beyond the prefix length")
    elif must_be_canonical and value != parsed.canonical:
        errors.append(f"must be in canonical form ({quoted(parsed.canonical)})")
    if only and parsed.family != only:
        errors.append(f"must be an {only} CIDR")
    return invalid_for_each(field, value, errors)


def cidr_warnings(field: str, value: str) -> list[str]:
    parsed = read_cidr(value)
    if parsed is None:
        return []
    network, warnings = parsed.canonical_network, []
    if not parsed.is_network:
        choice = f"should be {quoted(network)} or {quoted(parsed.alone)}?"
        warnings.append(f"{field}: CIDR value {quoted(value)} is ambiguous in this context ({choice})")
    if not parsed.is_strict or parsed.is_mapped:
        warnings.append(_outdated(field, "CIDR value", value, network))
    if not warnings and parsed.family == "IPv6" and network != value:
        warnings.append(_not_canonical(field, "IPv6 CIDR value", value, network))
    return warnings


def _outdated(field: str, what: str, value: str, better: str) -> str:
    return (
        f"{field}: non-standard {what} {quoted(value)} will be considered invalid in a future Kubernetes "
        f"release: use {quoted(better)}"
    )


def _not_canonical(field: str, what: str, value: str, better: str) -> str:
    return f"{field}: {what} {quoted(value)} should be in RFC 5952 canonical format ({quoted(better)})"


def validate_port_number(field: str, value: int) -> ErrorList:
    return validate_range(field, value, 1, HIGHEST_PORT)


def validate_port(field: str, value: int | str) -> ErrorList:
    """A port by number, or by the name that containers give it."""
    if isinstance(value, str):
        return invalid_for_each(field, value, port_name_errors(value))
    return validate_port_number(field, value)
