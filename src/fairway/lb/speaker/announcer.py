"""Answers questions for the addresses this node holds, announces them, and notices who else does.

Whether an address may be answered for is asked again for every single frame, as a Lease may have run out
since the last one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
from collections.abc import Callable

import structlog

from fairway.kernel.link import Link
from fairway.lb.speaker import wire

log = structlog.get_logger()

# After taking over: at once, and again soon, as single frames get lost. Then now and then.
BURST = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)
PERIOD_SECONDS = 10.0

MayAnswer = Callable[[str], bool]
Conflict = Callable[[str, str], None]
Contested = Callable[[str], None]


class Announcer:
    """`contested(address)` is called when another machine claims an address, whoever holds it, before
    `may_answer(address)` is asked; `conflict(address, mac)` when we may answer for it all the same.
    """

    def __init__(self, link: Link, may_answer: MayAnswer, conflict: Conflict, contested: Contested) -> None:
        self._link = link
        self._may_answer = may_answer
        self._conflict = conflict
        self._contested = contested
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def listen(self, address: str) -> None:
        """Be reached by questions about an address, long before it may be ours."""
        parsed = ipaddress.ip_address(address)
        if isinstance(parsed, ipaddress.IPv6Address):
            self._link.join(str(wire.solicited_node(parsed)))

    def receive(self) -> None:
        """All that has come, claims first: questions may have waited for longer than our right to answer."""
        read = [wire.read(frame) for frame in self._link.receive()]
        heard = [each for each in read if each and each.mac != self._link.mac]
        for each in heard:
            if isinstance(each, wire.Claim) or each.takes_over:
                self._contested(str(each.address))
        for each in heard:
            self._handle(each)

    def _handle(self, heard: wire.Question | wire.Claim) -> None:
        if not self._may_answer(str(heard.address)):
            return
        if isinstance(heard, wire.Question):
            self._link.send(wire.answer(heard, self._link.mac))
        else:
            self._conflict(str(heard.address), heard.mac.hex(":"))

    def ask(self, address: str) -> None:
        """Whoever still answers for an address that is ours now is told to stop."""
        self._link.send(wire.take_over(ipaddress.ip_address(address), self._link.mac))

    def taken(self, address: str) -> None:
        """Tell the network that the address is here now."""
        self.forget(address)
        self.announce(address)
        self._tasks[address] = asyncio.create_task(self._announce_on(address))

    def announce(self, address: str) -> bool:
        self.receive()
        if not self._may_answer(address):
            return False
        parsed = ipaddress.ip_address(address)
        for frame in wire.announcement(parsed, self._link.mac):
            self._link.send(frame)
        self._link.send(wire.probe(parsed, self._link.mac))
        return True

    def forget(self, address: str) -> None:
        if task := self._tasks.pop(address, None):
            task.cancel()

    async def _announce_on(self, address: str) -> None:
        """Ends with the Lease; whoever takes it back begins anew."""
        waits = [late - early for early, late in itertools.pairwise(BURST)]
        while True:
            await asyncio.sleep(waits.pop(0) if waits else PERIOD_SECONDS)
            if not self.announce(address):
                return

    def run(self) -> Callable[[], None]:
        """Read from the link whenever something comes in; returns what ends it."""
        loop = asyncio.get_running_loop()
        for number in self._link.filenos():
            loop.add_reader(number, self.receive)

        def stop() -> None:
            for number in self._link.filenos():
                loop.remove_reader(number)
            for address in list(self._tasks):
                self.forget(address)

        return stop
