"""Times as Kubernetes reads and writes them: RFC 3339 in UTC, to the second or the microsecond.

Reading follows Go's time.Parse for the two layouts, its error texts included.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

SECONDS: Final = "2006-01-02T15:04:05Z07:00"
MICROSECONDS: Final = "2006-01-02T15:04:05.000000Z07:00"

_STORED: Final = re.compile(
    r"[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}Z"
)
# What the layout asks for, piece by piece: the layout's own text, and the pattern a value must have there.
_PIECES: Final = (
    ("2006", r"[0-9]{4}"),
    ("-", "-"),
    ("01", r"[0-9]{2}"),
    ("-", "-"),
    ("02", r"[0-9]{2}"),
    ("T", "T"),
    ("15", r"[0-9]{2}"),
    (":", ":"),
    ("04", r"[0-9]{2}"),
    (":", ":"),
    ("05", r"[0-9]{2}"),
)
_ZONE: Final = ("Z07:00", r"Z|[+-][0-9]{2}:[0-9]{2}")
_FRACTIONS: Final = {SECONDS: ("", r"(?:[.,][0-9]+)?"), MICROSECONDS: (".000000", r"[.,][0-9]{6}")}


class BadTime(ValueError):
    """The text is no time in that layout; the message is the one Go gives."""


@lru_cache(maxsize=4096)
def canonical(text: str, layout: str = SECONDS) -> str:
    """The stored spelling. Raises BadTime."""
    if layout == SECONDS and _STORED.fullmatch(text):
        return text  # nearly every time that a client sends back
    return spell(parse(text, layout), layout)


def spell(moment: datetime, layout: str = SECONDS) -> str:
    """A moment in UTC, as it is stored."""
    unit = "microseconds" if layout == MICROSECONDS else "seconds"
    return moment.replace(tzinfo=None).isoformat(timespec=unit) + "Z"


def parse(text: str, layout: str = SECONDS) -> datetime:
    pieces = (*_PIECES, _FRACTIONS[layout], _ZONE)
    rest, values = text, []
    for expected, pattern in pieces:
        found = re.match(pattern, rest)
        if found is None:
            raise BadTime(f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{expected}"')
        values.append(found[0])
        rest = rest[found.end() :]
    if rest:
        raise BadTime(f'parsing time "{text}": extra text: "{rest}"')
    return _moment(text, values)


def _moment(text: str, values: list[str]) -> datetime:
    year, month, day, hour, minute, second = (int(values[at]) for at in (0, 2, 4, 6, 8, 10))
    for name, value, lowest, highest in (
        ("month", month, 1, 12),
        ("hour", hour, 0, 23),
        ("minute", minute, 0, 59),
        ("second", second, 0, 59),
        ("day", day, 1, _days(year, month)),
    ):
        if not lowest <= value <= highest:
            raise BadTime(f'parsing time "{text}": {name} out of range')
    micros = int(values[11][1:7].ljust(6, "0")) if values[11] else 0
    try:
        return datetime(year, month, day, hour, minute, second, micros, _zone(values[12])).astimezone(UTC)
    except (
        ValueError,
        OverflowError,
    ):  # years that Go has and we don't: 0, and what zones make of 1 and 9999
        raise BadTime(f'parsing time "{text}": year out of range') from None


def _days(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return {2: 29 if leap else 28, 4: 30, 6: 30, 9: 30, 11: 30}.get(month, 31)


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    shift = timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return timezone(-shift if text[0] == "-" else shift)
