"""Reading the arguments of directives: zones, numbers, durations, addresses. Errors name line and word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairway.dns import names
from fairway.dns.corefile import Directive

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def zones(directive: Directive, args: Sequence[str], default: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Zones given as arguments (names or networks), or those of the server block."""
    found = [zone for arg in args for zone in zone_or_network(directive, arg)]
    return tuple(found) or default


def zone_or_network(directive: Directive, text: str) -> list[bytes]:
    try:
        return names.reverse_zone(text) if "/" in text else [names.from_text(text.lower())]
    except ValueError as error:
        raise directive.error(f"'{text}' is no zone: {error}") from None


def in_zones(name: bytes, among: Sequence[bytes]) -> bool:
    return any(names.is_under(name, zone) for zone in among)


def overlap(some: Sequence[bytes], others: Sequence[bytes]) -> bool:
    """Whether any name could be in zones of both."""
    return any(names.is_under(a, b) or names.is_under(b, a) for a in some for b in others)


def integer(directive: Directive, text: str, low: int = 0, high: int = 2**31) -> int:
    try:
        value = int(text)
    except ValueError:
        raise directive.error(f"'{text}' is not a number, in '{directive.name}'") from None
    if not low <= value <= high:
        raise directive.error(f"'{text}' must be in range [{low}, {high}], in '{directive.name}'")
    return value


def duration(directive: Directive, text: str) -> float:
    """`5s`, `300ms`, `1m30s`; a bare number is seconds."""
    if text.isdigit():
        return float(text)
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise directive.error(f"'{text}' is not a duration, in '{directive.name}'")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def host_port(directive: Directive, text: str, default: int) -> tuple[str, int]:
    """`host:port`, `:port`, `[v6]:port`, `host`, `v6`."""
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        host, port = text, str(default)
    return host.strip("[]"), integer(directive, port, 0, 65535)
