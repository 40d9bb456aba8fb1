"""`errors`: says in the log when a question could not be answered.

`consolidate DURATION REGEX [LEVEL]` lets like ones be said once in a while, with their number.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from fairway.dns import names, wire
from fairway.dns.arguments import duration
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.rdata import type_text
from fairway.dns.wire import Reply
from fairway.dns.zone.zone import Zone

log = structlog.get_logger()
_LEVELS = ("warning", "error", "info", "debug")


@dataclass
class Pattern:
    """One kind of message that is put together."""

    expression: re.Pattern[str]
    every: float
    level: str
    count: int = 0


class Errors(Plugin):
    name = "errors"
    same_for_all = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        line = directives[0]
        if line.args not in ((), ("stdout",)):
            raise line.wrong_arguments()
        self._patterns = [_pattern(inner) for inner in line.body if inner.name != "stacktrace"]

    def passes(self, zone: Zone) -> bool:
        return True

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        reply = await ahead(request)
        if reply is None or (reply.rcode == wire.SERVFAIL and not reply.flags & wire.RA):
            self._say(f"{names.to_text(request.query.name)} {type_text(request.query.type)}: no answer")
        return reply

    def _say(self, message: str) -> None:
        for pattern in self._patterns:
            if pattern.expression.search(message):
                pattern.count += 1
                if pattern.count == 1:
                    asyncio.get_running_loop().call_later(pattern.every, self._sum_up, pattern)
                return
        log.error("errors", message=message)

    def _sum_up(self, pattern: Pattern) -> None:
        expression = pattern.expression.pattern
        getattr(log, pattern.level)("errors", pattern=expression, times=pattern.count, seconds=pattern.every)
        pattern.count = 0


def _pattern(line: Directive) -> Pattern:
    if line.name != "consolidate":
        raise line.unknown_property("errors")
    if not 2 <= len(line.args) <= 3 or (len(line.args) == 3 and line.args[2] not in _LEVELS):
        raise line.wrong_arguments()
    try:
        expression = re.compile(line.args[1])
    except re.error as error:
        raise line.error(f"plugin/errors: {error} in '{line.args[1]}'") from None
    level = line.args[2] if len(line.args) == 3 else "error"
    return Pattern(expression, duration(line, line.args[0]), level)


PLUGIN = Errors
