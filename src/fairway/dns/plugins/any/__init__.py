"""`any`: questions of type ANY get a short HINFO record instead of everything there is (RFC 8482)."""

from __future__ import annotations

from collections.abc import Sequence

from fairway.dns import rdata, wire
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.wire import Record, Reply
from fairway.dns.zone.zone import Zone

_TTL = 8482
_HINFO = rdata.data(wire.HINFO, ("ANY obsoleted", "See RFC 8482"))


class Any(Plugin):
    name = "any"
    same_for_all = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        directives[0].none()

    def passes(self, zone: Zone) -> bool:
        return True

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        if request.query.type != wire.ANY:
            return await ahead(request)
        return Reply(wire.NOERROR, (Record(request.query.name, wire.HINFO, _TTL, _HINFO),))


PLUGIN = Any
