"""`chaos [VERSION] [AUTHORS…]`: what a server tells of itself to questions of class CH, like
`version.bind`."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from fairway import __version__
from fairway.dns import names, rdata, wire
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.wire import Record, Reply
from fairway.dns.zone.zone import Zone


class Chaos(Plugin):
    name = "chaos"
    same_for_all = True
    any_class = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        args = directives[0].args
        version = args[0] if args else f"Fairway-{__version__}"
        host = socket.gethostname()
        told = {
            "version.bind": (version,),
            "version.server": (version,),
            "hostname.bind": (host,),
            "id.server": (host,),
            "authors.bind": args[1:] or ("The Fairway authors",),
        }
        self._told = {names.from_text(name): texts for name, texts in told.items()}

    def passes(self, zone: Zone) -> bool:
        return True

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        query = request.query
        texts = self._told.get(request.name)
        if query.rdclass != wire.CH or query.type != wire.TXT or texts is None:
            return await ahead(request)
        records = [Record(query.name, wire.TXT, 0, rdata.data(wire.TXT, (t,)), wire.CH) for t in texts]
        return Reply(wire.NOERROR, tuple(records))


PLUGIN = Chaos
