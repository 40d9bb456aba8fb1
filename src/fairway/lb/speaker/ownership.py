"""When a node may answer for an address: the rules of its Lease, without I/O and with the clock passed in.

The holder counts from before it asked for a renewal and falls silent a margin early. The others count a full
duration from when they saw that renewal, which is later. So however slow the API server is and whatever the
clocks of machines say, one is silent before the next one speaks.
"""

from __future__ import annotations

import enum
import math
import zlib
from dataclasses import dataclass

from fairway.lb.config import Terms

# Nodes that want a free address wait up to so long, each by its own measure for each address: so addresses
# spread over nodes, and two rarely write at the same moment.
SPREAD_SECONDS = 0.08
# A node that was asked to leave lets the others go first.
COURTESY_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Record:
    """What a Lease says; `leave` is the node that was asked to give the address up."""

    holder: str = ""
    duration: float = 0.0
    renewed: str = ""
    version: int = 0
    transitions: int = 0
    leave: str = ""


class Act(enum.Enum):
    WAIT = "wait"
    CLAIM = "claim"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Step:
    act: Act
    until: float = math.inf
    """For WAIT: when to ask again, if nothing happens before."""


class Ownership:
    """One address as one node sees it."""

    def __init__(self, address: str, node: str, terms: Terms, absent_since: float) -> None:
        self.address = address
        self._node = node
        self._terms = terms
        self._record: Record | None = None
        # Whoever deleted the Lease, or held it before we started, may answer for a full duration yet.
        self._free_since = absent_since + terms.duration
        self._held_until = -math.inf
        self._renew_at = self._retry_at = -math.inf
        self._preference = SPREAD_SECONDS * zlib.crc32(f"{node}|{address}".encode()) / 0xFFFFFFFF

    @property
    def record(self) -> Record | None:
        return self._record

    def may_answer(self, now: float) -> bool:
        return now < self._held_until

    def observe(self, record: Record | None, now: float) -> None:
        """The Lease as a watch or an answer shows it; older news than we have are ignored."""
        before = self._record
        if record is None:
            self._held_until = -math.inf
            self._record = None
            return
        if before is not None and record.version < before.version:
            return
        self._record = record
        if record.holder != self._node:
            self._held_until = -math.inf
        if before is None or _heartbeat(before) != _heartbeat(record):
            self._free_since = now + (record.duration if record.holder else 0.0)

    def claimed(self, record: Record, began: float, now: float) -> None:
        """Our write went through; `began` is when we set out to make it."""
        self._record = record
        self._free_since = now + record.duration
        self._held_until = began + record.duration - self._terms.margin
        self._renew_at = began + self._terms.renew_every

    def failed(self, now: float) -> None:
        """A write got no answer. It may or may not have been made, so nothing is known to be longer ours."""
        self._renew_at = self._retry_at = now + self._terms.renew_every / 4

    def silence(self) -> None:
        """Stop answering, at once."""
        self._held_until = -math.inf

    def step(self, now: float, eligible: bool) -> Step:
        ours = self._record is not None and self._record.holder == self._node
        asked = self._record is not None and self._record.leave == self._node
        if ours:
            if not eligible or asked:
                due = self.may_answer(now) or now >= self._retry_at
                return Step(Act.LEAVE) if due else Step(Act.WAIT, self._retry_at)
            return Step(Act.CLAIM) if now >= self._renew_at else Step(Act.WAIT, self._renew_at)
        if not eligible:
            return Step(Act.WAIT)
        free_at = max(
            self._free_since + self._preference + (COURTESY_SECONDS if asked else 0), self._renew_at
        )
        return Step(Act.CLAIM) if now >= free_at else Step(Act.WAIT, free_at)


def _heartbeat(record: Record) -> tuple[str, str, float]:
    """What a renewal changes: someone's note on the Lease is not a sign of life of its holder."""
    return record.holder, record.renewed, record.duration
