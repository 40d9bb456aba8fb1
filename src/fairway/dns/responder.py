"""One question in, one answer out: reads the message, picks the server block, asks its chain, writes the
answer.

Knows nothing of sockets. The prebuilt answers of a cluster zone (`lane`) are used where no plugin would
change them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec
import structlog

from fairway.dns import explain, names, wire
from fairway.dns.chain import Chain
from fairway.dns.metrics import Metrics, Where
from fairway.dns.plugin import Plugin, Request
from fairway.dns.plugins.kubernetes import Kubernetes
from fairway.dns.wire import Edns, Malformed, Query, Reply
from fairway.dns.zone.compiled import Compiled
from fairway.dns.zone.prebuilt import Prebuilt

log = structlog.get_logger()
_MAX_DEPTH = 8
_MOST_RECENT = 8192
_REFUSED = Reply(wire.REFUSED)
_SERVFAIL = Reply(wire.SERVFAIL)
_EMPTY: dict[bytes, Prebuilt] = {}

Counted = tuple[Where, str, int, int]
Responded = tuple[Where, int, str]


class Responder:
    """Answers for all server blocks that share a port and an address."""

    def __init__(
        self,
        chains: Sequence[Chain],
        metrics: Metrics,
        server: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.metrics = metrics
        self.server = server
        self._clock = clock
        self.chains = {zone: chain for chain in chains for zone in chain.zones}
        self.any_class = any(plugin.any_class for chain in chains for plugin in chain.plugins)
        self._kubernetes = _open_lane(chains)
        self.where: Where = (server, _lane_zone(chains))
        metrics.plugins |= {
            ((server, names.to_text(zone)), plugin.name)
            for chain in chains
            for zone in chain.zones
            for plugin in chain.plugins
        }
        self._repeats = all(_same_for_all(plugin) for chain in chains for plugin in chain.plugins)
        self._recent: dict[bytes, tuple[float, bytes, Counted, Responded]] = {}

    # ---- at once ---------------------------------------------------------------------------------------

    @property
    def lane(self) -> Compiled | None:
        """The prebuilt answers, once the cluster has been seen in full."""
        found = self._kubernetes
        return found.compiled if found and found.serves() else None

    @property
    def prebuilt(self) -> dict[bytes, Prebuilt]:
        lane = self.lane
        return lane.answers if lane else _EMPTY

    def again(self, data: bytes) -> bytes | None:
        """The answer that was given to the same datagram a moment ago, while it still holds. Names of the
        cluster are not among them."""
        recent = self._recent.get(data[2:])
        if recent is None or recent[0] < self._clock():
            return None
        (_, zone), *_ = recent[2]
        self.metrics.cache_hits[zone, "denial" if recent[3][1] else "success"] += 1
        self.metrics.requests[recent[2]] += 1
        self.metrics.responses[recent[3]] += 1
        return data[:2] + recent[1]

    def _remember(
        self, data: bytes, reply: Reply, answer: bytes, counted: Counted, responded: Responded
    ) -> None:
        if len(self._recent) >= _MOST_RECENT:
            self._recent.clear()
        until = self._clock() + reply.repeat
        self._recent[data[2:]] = (until, answer[2:], counted, responded)

    # ---- through the chain -----------------------------------------------------------------------------

    async def respond(self, data: bytes, client: str, port: int, tcp: bool) -> bytes | None:
        """The answer's bytes; None if silence is the right answer."""
        if len(data) < 12 or data[2] & 0x80:
            return None
        try:
            query = wire.read_query(data)
        except Malformed as error:
            self.metrics.responses[(self.server, "dropped"), error.rcode, ""] += 1
            return wire.write_error(data, error.rcode, error.question)
        begin = self._clock()
        where = (self.server, self._zone_text(query))
        counted = (where, "tcp" if tcp else "udp", 2 if ":" in client else 1, query.type)
        self.metrics.requests[counted] += 1
        trail: list[str] | None = [] if query.edns and explain.is_wanted(query.edns.options) else None
        if query.edns and query.edns.version:
            # Of an unknown version nothing is understood, so nothing of it is echoed (RFC 6891 section
            # 6.1.3).
            query = msgspec.structs.replace(query, edns=Edns())
            reply = Reply(wire.BADVERS)
        else:
            reply = await self._reply(Request(query, client, tcp, self.lookup, port, trail=trail))
        if reply is wire.SILENCE:
            return None
        responded = (where, reply.rcode, _author(reply))
        self.metrics.responses[responded] += 1
        self.metrics.took(where, self._clock() - begin)
        if trail is not None:
            reply = explain.told(reply, query, trail)
        answer = wire.write_reply(query, reply, _limit(query, reply, tcp))
        if reply.repeat and self._repeats and trail is None and not (tcp or self._is_of_cluster(query)):
            self._remember(data, reply, answer, counted, responded)
        return answer

    def _is_of_cluster(self, query: Query) -> bool:
        return self._kubernetes is not None and self._kubernetes.zone.zone_of(query.key) is not None

    def _zone_text(self, query: Query) -> str:
        zone = next((zone for zone in names.ancestors(query.key) if zone in self.chains), None)
        return "dropped" if zone is None else names.to_text(zone)

    async def _reply(self, request: Request) -> Reply:
        query = request.query
        chain = self.chain_for(request.name, query.type)
        if chain is None or (query.rdclass != wire.IN and not self.any_class):
            return _REFUSED
        try:
            return await chain.serve(request) or _SERVFAIL
        except Exception:
            self.metrics.panics += 1
            log.exception("could not answer", name=names.to_text(query.name), type=query.type)
            return _SERVFAIL

    def chain_for(self, name: bytes, rdtype: int) -> Chain | None:
        """The block of the closest zone; a DS record is the parent's to answer (RFC 4035 section 3.1.4.1)."""
        found = [self.chains[zone] for zone in names.ancestors(name) if zone in self.chains]
        if rdtype == wire.DS and len(found) > 1:
            root = self.chains.get(names.ROOT)
            found = [chain for chain in found if chain is not root][-1:] or found
        return found[0] if found else None

    async def lookup(self, request: Request, name: bytes, rdtype: int) -> Reply:
        """A further question of a plugin, answered as if the client had asked it."""
        if request.depth >= _MAX_DEPTH:
            return _SERVFAIL
        query = Query(request.query.id, name, rdtype, wire.IN, request.query.flags, request.query.edns)
        return await self._reply(replace(request, query=query, depth=request.depth + 1))


def _author(reply: Reply) -> str:
    """Who made the answer, as far as that shows."""
    if reply.repeat:
        return "cache"
    return "forward" if reply.foreign else "kubernetes" if reply.flags & wire.AA else ""


def _lane_zone(chains: Sequence[Chain]) -> str:
    """The zone that prebuilt answers are counted under: that of the block with the cluster's names."""
    found = [c.zones[0] for c in chains if any(isinstance(p, Kubernetes) for p in c.plugins)]
    return names.to_text(found[0]) if found else "."


def _same_for_all(plugin: Plugin) -> bool:
    return plugin.same_for_all or type(plugin).serve is Plugin.serve


def _limit(query: Query, reply: Reply, tcp: bool) -> int:
    if tcp:
        return wire.MAX_MESSAGE
    if query.edns is None:
        return wire.PLAIN_UDP
    allowed = min(query.edns.size, reply.edns.size) if reply.edns else query.edns.size
    return max(wire.PLAIN_UDP, allowed)


def _open_lane(chains: Sequence[Chain]) -> Kubernetes | None:
    """The `kubernetes` plugin whose prebuilt answers need no chain: nothing before it would change them,
    and no other block has a part of its zones."""
    found = [(c, p) for c in chains for p in c.plugins if isinstance(p, Kubernetes)]
    if len(found) != 1:
        return None
    chain, kubernetes = found[0]
    before = chain.plugins[: chain.plugins.index(kubernetes)]
    if not all(plugin.passes(kubernetes.zone) for plugin in before):
        return None
    others = [zone for other in chains if other is not chain for zone in other.zones]
    served = kubernetes.zone.settings.zones
    apart = not any(names.is_under(other, zone) for other in others for zone in served)
    inside = all(any(names.is_under(zone, own) for own in chain.zones) for zone in served)
    return kubernetes if apart and inside else None
