"""`kubernetes`: the names of the cluster's Services, endpoints and Pods (DNS specification 1.1).

The zone itself is `fairway.dns.zone`; here it is asked, names outside of it are looked up for ExternalName
Services, and what falls through is passed on. Options are read in `options`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from fairway.dns import names, wire
from fairway.dns.arguments import in_zones, overlap
from fairway.dns.cluster import Cluster
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.plugins.kubernetes.options import parse
from fairway.dns.wire import Reply
from fairway.dns.zone.compiled import Compiled
from fairway.dns.zone.reply import Resolution, resolve
from fairway.dns.zone.zone import Zone

_TRANSFERS = (wire.AXFR, wire.IXFR)
_LOCALHOST = names.from_text("localhost.")
_FINAL = (wire.NOERROR, wire.NXDOMAIN)


class Kubernetes(Plugin):
    name = "kubernetes"
    same_for_all = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        self.options = parse(directives[0], setup.zones)
        acl, hosts = setup.plugins.get("acl"), setup.plugins.get("hosts")
        self.zone = Zone(self.options.settings, time.time)
        if acl is not None and not acl.passes(self.zone):
            self.zone.settings = replace(self.options.settings, guarded=True)
        self._shares = hosts is not None and not hosts.passes(self.zone)
        shuffle = any(line.name == "loadbalance" for line in setup.block.directives)
        closed = [z for z in self.zone.origins if not overlap((z,), self.options.fallthrough)]
        self.compiled = Compiled(self.zone, shuffle, self.passes_on, frozenset(closed))
        self._cluster: Cluster | None = None

    async def start(self) -> None:
        self._cluster = self.setup.around.cluster(self.options.kubeconfig)
        self._cluster.attach(self.zone)

    async def stop(self) -> None:
        if self._cluster:
            self._cluster.detach(self.zone)

    def ready(self) -> bool:
        return self._cluster is not None and self._cluster.fills(self.zone)

    def serves(self) -> bool:
        """Whether there is something to answer with: all of the cluster, or at least what it once was."""
        return self._cluster is not None and (self.ready() or self._cluster.recalls(self.zone))

    def passes_on(self, name: bytes) -> bool:
        """Whether a name that does not exist here is asked of the plugins behind."""
        return in_zones(name, self.options.fallthrough)

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        query = request.query
        if self.zone.zone_of(request.name) is None:
            return await ahead(request)
        if query.type in _TRANSFERS or query.rdclass not in (wire.IN, wire.CLASS_ANY):
            return Reply(wire.REFUSED)
        if not self.serves():
            # Nothing is known yet: to deny a name would be a lie that clients keep.
            return Reply(wire.SERVFAIL)
        resolution = resolve(self.zone, query.name, query.type)
        assert resolution is not None
        if request.trail is not None:
            request.note(self._origin(request.name))
        if self._others_know(query.type, request.name, resolution) and self.passes_on(request.name):
            return await self._pass_on(request, ahead, resolution)
        if resolution.external:
            return await self._look_up(request, resolution)
        return resolution.reply

    def _origin(self, name: bytes) -> str:
        zone = self.zone.zone_of(name) or names.ROOT
        stale = "" if self.ready() else ", an earlier state: no API server"
        return f"kubernetes: zone {names.to_text(zone)}, {self.zone.describe(name)}{stale}"

    def _others_know(self, rdtype: int, name: bytes, resolution: Resolution) -> bool:
        """Whether the plugins behind may have more to say. Addresses that `hosts` shares with us are theirs,
        but for their names."""
        if not resolution.exists or resolution.bare:
            return True
        mine = (wire.PTR, wire.SOA)
        return self._shares and rdtype not in mine and bool(self.zone.pointer(name))

    async def _pass_on(self, request: Request, ahead: Handler, resolution: Resolution) -> Reply | None:
        reply = await ahead(request)
        if reply is None:
            return None
        if resolution.bare and reply.rcode == wire.NXDOMAIN:
            # There are names below this one, so it exists, whatever others know of it (RFC 8020).
            return resolution.reply
        if request.query.type == wire.SOA and reply.rcode == wire.NOERROR and not reply.answer:
            # A name that others know, but is no zone of theirs: the zone around it is ours.
            return msgspec.structs.replace(resolution.reply, rcode=wire.NOERROR)
        return reply

    async def _look_up(self, request: Request, resolution: Resolution) -> Reply:
        """The rest of a chain of CNAMEs that leaves the zone. Its last rcode is the answer's (RFC 6604);
        where nobody serves the target's zone, the CNAME alone tells the client where to go on."""
        own = resolution.reply
        if names.is_under(resolution.external, _LOCALHOST):
            # No server outside can know it, so none is asked (RFC 6761 section 6.3).
            return own
        found = await request.lookup(request, resolution.external, request.query.type)
        if found.rcode in _FINAL:
            flags = wire.AA | found.flags & wire.TC
            return Reply(found.rcode, (*own.answer, *found.answer), (), (), flags)
        return Reply(wire.SERVFAIL, own.answer, flags=wire.AA) if found.foreign else own


PLUGIN = Kubernetes
