"""How long ago something was, in the few characters Kubernetes prints: `45s`, `5m30s`, `3h`, `2d4h`, `3y12d`.

The precision falls as the time grows. The clock is passed in by the caller.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from fairway.api.tables.reading import Object, at

UNKNOWN: Final = "<unknown>"
INVALID: Final = "<invalid>"
MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
YEAR: Final = 365 * DAY


def human_duration(duration: timedelta) -> str:
    """Two units where the second one still says something, one unit otherwise."""
    seconds = int(duration.total_seconds())
    if seconds < 0:
        return _of_the_future(seconds)
    if seconds < 2 * MINUTE:
        return f"{seconds}s"
    if seconds < 3 * HOUR:
        return _pair(seconds, MINUTE, "m", 1, "s") if seconds < 10 * MINUTE else f"{seconds // MINUTE}m"
    if seconds < 2 * DAY:
        return _pair(seconds, HOUR, "h", MINUTE, "m") if seconds < 8 * HOUR else f"{seconds // HOUR}h"
    if seconds < 2 * YEAR:
        return _pair(seconds, DAY, "d", HOUR, "h") if seconds < 8 * DAY else f"{seconds // DAY}d"
    return _pair(seconds, YEAR, "y", DAY, "d") if seconds < 8 * YEAR else f"{seconds // YEAR}y"


def short_human_duration(duration: timedelta) -> str:
    """Always a single unit, the largest that fits."""
    seconds = int(duration.total_seconds())
    if seconds < 0:
        return _of_the_future(seconds)
    for unit, letter in ((YEAR, "y"), (DAY, "d"), (HOUR, "h"), (MINUTE, "m")):
        if seconds >= unit:
            return f"{seconds // unit}{letter}"
    return f"{seconds}s"


def _of_the_future(seconds: int) -> str:
    """Clocks of two machines may differ by a second; more than that is a mistake worth showing."""
    return "0s" if seconds >= -1 else INVALID


def _pair(seconds: int, unit: int, letter: str, part: int, part_letter: str) -> str:
    whole, rest = divmod(seconds, unit)
    parts = rest // part
    return f"{whole}{letter}{parts}{part_letter}" if parts else f"{whole}{letter}"


def moment(obj: Object, *path: str) -> datetime | None:
    """The time stamp at path (with or without fractions of a second), or None."""
    value = at(obj, *path)
    return datetime.fromisoformat(value) if value else None


def since(then: datetime | None, now: datetime) -> str:
    return UNKNOWN if then is None else human_duration(now - then)


def age(obj: Object, now: datetime) -> str:
    return since(moment(obj, "metadata", "creationTimestamp"), now)
