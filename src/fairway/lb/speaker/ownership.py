"""When a node may answer for an address: the rules of its Lease, without I/O and with the clock passed in.

The holder counts from before it asked for a renewal and falls silent a margin early. The others count a full
duration from when they saw that renewal, which is later. So however slow the API server is and whatever the
clocks of machines say, the Lease of one has ended before the next one has it.

When nobody can renew anything, the holder goes on without a Lease rather than leave the address to nobody. So
whoever takes an address from another asks on the network before it speaks, and whoever has gone on stops when
it hears that, or anyone else who claims the address. See docs/adr/063.
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
# How long a node that takes an address from another asks before it speaks.
ASK_SECONDS = 0.1
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
        self._held_until = self._goes_on_until = -math.inf
        # Since when others have been asked to stop: for ever if there was nobody.
        self._asked_since = -math.inf
        # Nothing says that anyone else has been near the address since our last renewal.
        self._alone = False
        self._renew_at = self._retry_at = -math.inf
        self._preference = SPREAD_SECONDS * zlib.crc32(f"{node}|{address}".encode()) / 0xFFFFFFFF

    @property
    def record(self) -> Record | None:
        return self._record

    def may_answer(self, now: float) -> bool:
        return self._asked_since + ASK_SECONDS <= now < max(self._held_until, self._goes_on_until)

    def must_ask(self, now: float) -> bool:
        """The address is ours, but first others are to hear of it."""
        return now < min(self._asked_since + ASK_SECONDS, self._held_until)

    def asking(self, now: float) -> None:
        self._asked_since = min(self._asked_since, now)

    def observe(self, record: Record | None, now: float) -> None:
        """The Lease as a watch or an answer shows it; older news than we have are ignored."""
        before = self._record
        if record is None:
            self.silence()
            self._record = None
            return
        if before is not None and record.version < before.version:
            return
        self._record = record
        if record.holder != self._node:
            self.silence()
        self._note_predecessor(before, record)
        if before is None or _heartbeat(before) != _heartbeat(record):
            self._free_since = now + (record.duration if record.holder else 0.0)

    def claimed(self, record: Record, began: float, now: float, before: Record | None) -> None:
        """Our write, which was based on `before`, went through; `began` is when we set out to make it."""
        self._note_predecessor(before, record)
        self._record, self._alone = record, True
        self._free_since = now + record.duration
        self._held_until = began + record.duration - self._terms.margin
        self._renew_at = began + self._terms.renew_every

    def _note_predecessor(self, before: Record | None, record: Record) -> None:
        """Also when we learn that it is ours from a watch: the answer to our write may have been lost."""
        if record.holder == self._node and (before is None or before.holder not in ("", self._node)):
            self._asked_since = math.inf

    def failed(self, now: float) -> None:
        """A write was refused. What is ours is not so for longer."""
        self._renew_at = self._retry_at = now + self._terms.renew_every / 4

    def unreachable(self, now: float) -> None:
        """A write got no answer. It may or may not have been made, and what others do can't be seen.

        The holder goes on, unless it was absent for so long that it may have missed who came.
        """
        self.failed(now)
        self._free_since = max(self._free_since, now + self._terms.duration)
        ended = max(self._held_until, self._goes_on_until)
        self._alone = self._alone and now <= ended + self._terms.duration
        if self._alone:
            self._goes_on_until = now + self._terms.duration + self._terms.renew_every

    def contested(self) -> None:
        """Someone else claims the address. With a Lease that is their mistake, without one it is ours."""
        self._alone, self._goes_on_until = False, -math.inf

    def silence(self) -> None:
        """Stop answering, at once."""
        self.contested()
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
