"""Who was last heard of when, and whether it may be us who hear nothing.

State for one controller; the time is passed in. Clocks of other machines are never compared with ours: a node
is heard of when what it says changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairway.api.objects import Node, NodeStatus
from fairway.controllers.nodelifecycle.plan import readiness


@dataclass(frozen=True, slots=True)
class _Heard:
    renewed: str | None
    status: NodeStatus | None
    at: float


class Hearing:
    """`grace`: how long a node may be silent; `period`: how often it is looked at."""

    def __init__(self, grace: float, period: float) -> None:
        self._grace = grace
        self._period = period
        self._heard: dict[str, _Heard] = {}
        self._answering_since: float | None = None
        self._last_answer = 0.0

    def forget(self, name: str) -> None:
        self._heard.pop(name, None)

    def listen(self, node: Node, renewed: str | None, now: float) -> None:
        # A status that says Unknown is our own word, not the node's.
        status = node.status if readiness(node) != "Unknown" else None
        heard = self._heard.get(node.metadata.name)
        if heard is None or renewed != heard.renewed or status not in (None, heard.status):
            self._heard[node.metadata.name] = _Heard(renewed, status, now)

    def is_silent(self, name: str, now: float) -> bool:
        heard = self._heard.get(name)
        return heard is not None and now - heard.at > self._grace

    def all_silent(self, now: float) -> bool:
        return all(self.is_silent(name, now) for name in self._heard)

    # ---- our own ears ----

    def should_ask(self, now: float) -> bool:
        """Nobody was heard of for a while: time to find out whether the API server would tell us."""
        quiet = all(now - heard.at > self._grace / 2 for heard in self._heard.values())
        return quiet and now - self._last_answer >= self._period / 2

    def answered(self, now: float) -> None:
        if self._answering_since is None or now - self._last_answer > 3 * self._period:
            self._answering_since = now
        self._last_answer = now

    def unanswered(self) -> None:
        self._answering_since = None

    def is_deaf(self, now: float) -> bool:
        """After the API server was away, nodes get time to be heard of before they count as silent."""
        since = self._answering_since
        return since is None or now - since < self._grace / 2 - 2 * self._period
