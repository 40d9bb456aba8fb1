"""`minimal`: answers carry just the answer section, as long as there is one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fairway.dns import wire
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.wire import Reply


class Minimal(Plugin):
    name = "minimal"
    same_for_all = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        directives[0].none()

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        reply = await ahead(request)
        if reply is None or reply.rcode != wire.NOERROR or not reply.answer:
            return reply
        return msgspec.structs.replace(reply, authority=(), additional=())


PLUGIN = Minimal
