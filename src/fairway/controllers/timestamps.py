"""RFC 3339 times as the API spells them, to and from seconds since the epoch.

Planners get `now` as a number; nothing here looks at the clock.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=4096)
def seconds(stamp: str | None) -> float | None:
    """The moment a timestamp names; None where there is none or it can't be read."""
    if not stamp:
        return None
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None


def stamp(moment: float) -> str:
    """`metav1.Time`: whole seconds, UTC."""
    return datetime.fromtimestamp(int(moment), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(moment: float) -> str:
    """`metav1.MicroTime`: six digits, as Leases and Events carry it."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
