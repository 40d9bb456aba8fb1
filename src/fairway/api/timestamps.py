"""RFC 3339 times as the API spells them, to and from seconds since the epoch; nothing looks at the clock.

What clients may write instead, and how they are told what is wrong with it, is in `schema.timestamps`.
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
    return _spelled(int(moment))


@lru_cache(maxsize=64)
def _spelled(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
