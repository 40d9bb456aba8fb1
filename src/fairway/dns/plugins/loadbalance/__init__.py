"""`loadbalance`: shuffles the addresses of every answer, so that clients that take the first one spread.

Prebuilt answers of the cluster's zone are made shuffled (`zone.compiled`); everything else is shuffled here.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from fairway.dns import wire
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.wire import Record, Reply
from fairway.dns.zone.zone import Zone

_SHUFFLED = (wire.A, wire.AAAA, wire.MX)
_SAME_ORDER = 0.05
"""Seconds for which an order may stay: clients spread over the orders of a second."""
_UNTOUCHED = (wire.AXFR, wire.IXFR)


class LoadBalance(Plugin):
    name = "loadbalance"
    same_for_all = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        line = directives[0]
        if line.args and line.args != ("round_robin",):
            raise line.error(f"plugin/loadbalance: unknown policy: '{line.args[0]}'")
        if line.body:
            raise line.body[0].unknown_property("loadbalance")

    def passes(self, zone: Zone) -> bool:
        return True

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        reply = await ahead(request)
        if reply is None or reply.rcode or request.query.type in _UNTOUCHED:
            return reply
        answer = shuffled(reply.answer)
        repeat = reply.repeat if answer is reply.answer else min(reply.repeat, _SAME_ORDER)
        return msgspec.structs.replace(
            reply, answer=answer, additional=shuffled(reply.additional), repeat=repeat
        )


def shuffled(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """CNAMEs first and in order, then the rest, then addresses and mail servers in random order."""
    if len(records) < 2:
        return records
    chain = [record for record in records if record.type == wire.CNAME]
    moved = [record for record in records if record.type in _SHUFFLED]
    fixed = [record for record in records if record.type not in (*_SHUFFLED, wire.CNAME)]
    random.shuffle(moved)
    return (*chain, *fixed, *moved)


PLUGIN = LoadBalance
