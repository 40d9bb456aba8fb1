"""`rewrite`: changes questions on their way in, and answers on their way out so that they fit what was asked.

Rules are tried in the order they are written; the first that applies ends it, unless it says `continue`.
`rules` has the kinds of rules, `options` reads them.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairway.dns import names
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.plugins.rewrite.options import parse
from fairway.dns.plugins.rewrite.rules import Undo
from fairway.dns.rdata import type_text
from fairway.dns.wire import SILENCE, Reply


class Rewrite(Plugin):
    name = "rewrite"
    repeats = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        self._rules = [parse(line) for line in directives]

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        query = request.query
        undo: list[Undo] = []
        for rule, stops in self._rules:
            changed = rule.apply(query, request)
            if changed is None:
                continue
            query, backwards = changed
            undo.append(backwards)
            if stops:
                break
        if not undo:
            return await ahead(request)
        request.note(f"rewrite: asked for {names.to_text(query.name)} {type_text(query.type)}")
        reply = await ahead(request.asking(query))
        if reply is None or reply is SILENCE:
            return reply
        for backwards in reversed(undo):
            reply = backwards(reply)
        return reply


PLUGIN = Rewrite
