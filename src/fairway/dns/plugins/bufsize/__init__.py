"""`bufsize [SIZE]`: no answer over UDP is larger than this, whatever clients say they can take."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fairway.dns import wire
from fairway.dns.arguments import integer
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.wire import Reply


class BufSize(Plugin):
    name = "bufsize"
    same_for_all = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        line = directives[0]
        self._size = integer(line, line.one(), wire.PLAIN_UDP, 4096) if line.args else wire.UDP_SIZE

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        edns = request.query.edns
        if edns is None or edns.size <= self._size:
            return await ahead(request)
        smaller = msgspec.structs.replace(edns, size=self._size)
        reply = await ahead(request.asking(msgspec.structs.replace(request.query, edns=smaller)))
        if reply is None or reply.edns or reply is wire.SILENCE:
            return reply
        return msgspec.structs.replace(reply, edns=wire.Edns(self._size, edns.do))


PLUGIN = BufSize
