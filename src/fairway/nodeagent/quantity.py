"""Kubernetes quantities (`250m`, `64Mi`, `1e3`) as exact numbers. Pure."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{letter: Decimal(10) ** (3 * power) for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}
_PATTERN = re.compile(r"([+-]?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?)([numkMGTPE]i?|Ki)?\Z")


def parse(text: str | int | float) -> Decimal:
    match = _PATTERN.match(str(text))
    if not match or not match[1]:
        raise ValueError(f"{text!r} is no quantity")
    return Decimal(match[1]) * _SUFFIXES[match[2] or ""]


def whole(text: str | int | float, divisor: str = "1") -> int:
    """In units of `divisor`, rounded up, as the downward API does it."""
    return int((parse(text) / (parse(divisor) or 1)).to_integral_value(ROUND_CEILING))
