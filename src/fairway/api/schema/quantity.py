"""Resource quantities: `100m`, `1.5Gi`, `2e3`; which texts are one, and how Kubernetes spells them.

The rules are those of apimachinery's resource.Quantity. A text with few digits is kept as written; amounts in
resource lists (requests, limits, capacity) are rounded up to thousandths and spelled canonically: `1000m` is
`1`, `1024Mi` is `1Gi`, `0.5` is `500m`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

FORMAT_WRONG: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
SUFFIX_WRONG: Final = "unable to parse quantity's suffix"

_SPELLING: Final = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIX: Final = {power: suffix for suffix, power in _BINARY.items()} | {0: ""}
_DECIMAL_SUFFIX: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_LARGEST: Final = 2**63 - 1
# Nobody means more than this, and exact arithmetic takes its time.
_LONGEST: Final = 300
_HIGHEST_EXPONENT: Final = 300
_EXACT: Final = Context(prec=400)
_NANO, _MILLI = Decimal("1e-9"), Decimal("1e-3")


class BadQuantity(ValueError):
    """The text is no quantity; the message is the one Kubernetes gives."""


class _Parts(NamedTuple):
    negative: bool
    digits: str
    places: int  # of the digits, how many stand behind the point
    notation: str  # binary, decimal or exponent
    power: int

    def amount(self) -> Decimal:
        """The amount without its sign, exact."""
        number = Decimal(self.digits or "0").scaleb(-self.places, _EXACT)
        if self.notation == "binary":
            return min(_EXACT.multiply(number, Decimal(2**self.power)), Decimal(_LARGEST))
        return number.scaleb(self.power, _EXACT)


@lru_cache(maxsize=4096)
def kept(text: str) -> str:
    """The spelling of a lone quantity, a volume's size limit for instance. Raises BadQuantity."""
    text = text.strip()
    parts = _parts(text)
    return text if _fits(parts) else _spell(parts, _NANO)


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The spelling of an amount in a resource list. Raises BadQuantity."""
    return _spell(_parts(text.strip()), _MILLI)


@lru_cache(maxsize=4096)
def value_of(text: str) -> Decimal:
    """The amount itself, for comparing; the text is known to be a quantity."""
    parts = _parts(text)
    return -parts.amount() if parts.negative else parts.amount()


def whole(amount: str | int | float, divisor: str = "1") -> int:
    """In units of `divisor`, rounded up, as the downward API does it."""
    return int((value_of(str(amount)) / (value_of(divisor) or 1)).to_integral_value(ROUND_CEILING))


def total(texts: Iterable[str]) -> str:
    """The sum, spelled in the notation of the first amount that isn't nothing."""
    amount, notation = Decimal(0), "decimal"
    for text in texts:
        if not amount:
            notation = _parts(text).notation
        amount = _EXACT.add(amount, value_of(text))
    return _spell_amount(abs(amount), amount < 0, notation, _MILLI)


def _parts(text: str) -> _Parts:
    found = _SPELLING.fullmatch(text) if len(text) <= _LONGEST else None
    if not text or found is None:
        raise BadQuantity(FORMAT_WRONG)
    sign, whole, fraction, suffix = found.groups()
    fraction = fraction or ""
    notation, power = _meaning(suffix)
    return _Parts(sign == "-", (whole or "0") + fraction, len(fraction), notation, power)


def _meaning(suffix: str) -> tuple[str, int]:
    if suffix in _DECIMAL:
        return "decimal", _DECIMAL[suffix]
    if suffix in _BINARY:
        return "binary", _BINARY[suffix]
    if (exponent := _EXPONENT.fullmatch(suffix)) and abs(int(exponent[1])) <= _HIGHEST_EXPONENT:
        return "exponent", int(exponent[1])
    raise BadQuantity(SUFFIX_WRONG)


def _fits(parts: _Parts) -> bool:
    """Whether Kubernetes holds it as one 64-bit number, and so remembers the text it was given."""
    digits = len(parts.digits)
    if parts.notation == "binary":
        if parts.places or 15 - digits - parts.power * 3 // 10 - 1 < 0:
            return False
        return int(parts.digits) << parts.power <= _LARGEST
    return digits <= 18 and parts.power - parts.places >= -9


def _spell(parts: _Parts, finest: Decimal) -> str:
    return _spell_amount(parts.amount(), parts.negative, parts.notation, finest)


def _spell_amount(amount: Decimal, negative: bool, notation: str, finest: Decimal) -> str:
    if amount.as_tuple().exponent < finest.as_tuple().exponent:  # type: ignore[operator]  # never NaN
        amount = amount.quantize(finest, ROUND_UP, _EXACT)
    sign = "-" if negative and amount else ""
    whole = amount == amount.to_integral_value()
    if notation == "binary" and whole and amount >= 1024:
        number, power = _reduce(int(amount), 1024, 10, 0, 60)
        return f"{sign}{number}{_BINARY_SUFFIX[power]}"
    number, power = _reduce(int(amount.scaleb(9, _EXACT)), 1000, 3, -9, 18)
    if notation == "exponent":
        return f"{sign}{number}e{power}" if power else f"{sign}{number}"
    return f"{sign}{number}{_DECIMAL_SUFFIX[power]}"


def _reduce(number: int, base: int, step: int, power: int, highest: int) -> tuple[int, int]:
    """The same value with the largest power that leaves a whole number."""
    if number == 0:
        return 0, 0
    while number % base == 0 and power < highest:
        number //= base
        power += step
    return number, power
