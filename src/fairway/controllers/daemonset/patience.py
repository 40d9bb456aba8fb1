"""Patience with Pods that fail as soon as they are made: where a node refuses them, they are not fought over.

State for one controller, by DaemonSet, generation and node; no clock, the time is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass

SHORTEST, LONGEST = 1.0, 900.0

_Place = tuple[str, int, str]  # uid and generation of the set, node


@dataclass(frozen=True, slots=True)
class _Delay:
    since: float
    seconds: float

    @property
    def end(self) -> float:
        return self.since + self.seconds


class Patience:
    def __init__(self) -> None:
        self._delays: dict[_Place, _Delay] = {}

    def held(self, uid: str, generation: int, now: float) -> dict[str, float]:
        """The nodes whose failed Pod has to stay for now, and for how much longer."""
        self._forget(now)
        return {
            node: delay.end - now
            for (owner, observed, node), delay in self._delays.items()
            if (owner, observed) == (uid, generation) and delay.end > now
        }

    def removed(self, uid: str, generation: int, node: str, now: float) -> None:
        before = self._delays.get((uid, generation, node))
        seconds = min(before.seconds * 2, LONGEST) if before else SHORTEST
        self._delays[(uid, generation, node)] = _Delay(now, seconds)

    def _forget(self, now: float) -> None:
        """What has gone well for twice as long as the longest delay counts as well."""
        over = [place for place, delay in self._delays.items() if now - delay.since > 2 * LONGEST]
        for place in over:
            del self._delays[place]
