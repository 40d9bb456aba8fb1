"""`log`: one line for every question, or for those of some zones and classes of answers.

Every question then goes through the chain: a server that logs each one can't answer from prebuilt messages
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from fairway.dns import names, wire
from fairway.dns.arguments import in_zones, zones
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.plugins.log.format import is_format, line
from fairway.dns.rdata import rcode_text, type_text
from fairway.dns.wire import Reply

log = structlog.get_logger()
_CLASSES = ("success", "denial", "error", "all")


@dataclass(frozen=True)
class Rule:
    zones: tuple[bytes, ...]
    classes: frozenset[str]
    format: str = ""
    """Empty: key=value."""


class Log(Plugin):
    name = "log"
    repeats = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        self._rules = [_rule(line, setup) for line in directives]
        self._clock = setup.around.clock

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        begin = self._clock()
        reply = await ahead(request)
        rule = next((rule for rule in self._rules if in_zones(request.name, rule.zones)), None)
        if rule and rule.classes & {"all", _class(reply)}:
            self._say(rule, request, reply, self._clock() - begin)
        return reply

    def _say(self, rule: Rule, request: Request, reply: Reply | None, seconds: float) -> None:
        query = request.query
        if rule.format:
            log.info(line(rule.format, request, reply, seconds))
            return
        log.info(
            "question",
            client=f"{request.client}:{request.port}",
            id=query.id,
            name=names.to_text(query.name),
            type=type_text(query.type),
            proto="tcp" if request.tcp else "udp",
            rcode=rcode_text(reply.rcode if reply else wire.SERVFAIL),
            records=len(reply.answer) if reply else 0,
            seconds=round(seconds, 6),
        )


def _class(reply: Reply | None) -> str:
    if reply is None or reply.rcode not in (wire.NOERROR, wire.NXDOMAIN):
        return "error"
    return "success" if reply.rcode == wire.NOERROR and reply.answer else "denial"


def _rule(directive: Directive, setup: Setup) -> Rule:
    classes: set[str] = set()
    for inner in directive.body:
        wrong = [arg for arg in inner.args if arg not in _CLASSES]
        if inner.name != "class" or not inner.args or wrong:
            raise inner.unknown_property("log") if inner.name != "class" else inner.wrong_arguments()
        classes |= set(inner.args)
    args = list(directive.args)
    pattern = args.pop() if args and is_format(args[-1]) else ""
    return Rule(zones(directive, args, setup.zones), frozenset(classes or {"all"}), pattern)


PLUGIN = Log
