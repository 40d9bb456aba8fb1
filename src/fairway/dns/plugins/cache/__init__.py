"""`cache [TTL] [ZONES…]`: keeps answers of other servers for as long as they, and the options, allow.

Answers of our own zones are never kept, as they are never out of date and cost less than a look-up here;
their TTLs are capped like all others. `store` holds the entries, `options` reads the directive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from fairway.dns import names, wire
from fairway.dns.arguments import in_zones, overlap
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.plugins.cache.options import Bounds, Options, parse
from fairway.dns.plugins.cache.store import Entry, Key, Store, with_ttl
from fairway.dns.wire import Reply
from fairway.dns.zone.zone import Zone

_UNCACHED = (wire.AXFR, wire.IXFR, wire.ANY)


class Cache(Plugin):
    name = "cache"
    same_for_all = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        self.options: Options = parse(directives[0], setup.zones)
        self._clock = setup.around.clock
        self._metrics = setup.around.metrics
        self._positive = Store(self.options.success.capacity)
        self._negative = Store(self.options.denial.capacity)
        self._label = ",".join(names.to_text(zone) for zone in self.options.zones)
        self._refreshing: dict[Key, asyncio.Task[Reply | None]] = {}

    def passes(self, zone: Zone) -> bool:
        """Prebuilt answers go by if their TTL would not be changed."""
        kinds = (self.options.success, self.options.denial)
        fits = all(bounds.shortest <= zone.settings.ttl <= bounds.longest for bounds in kinds)
        return fits or not overlap(zone.settings.zones, self.options.zones)

    async def stop(self) -> None:
        for task in self._refreshing.values():
            task.cancel()

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        query = request.query
        if (
            query.type in _UNCACHED
            or query.rdclass != wire.IN
            or not in_zones(request.name, self.options.zones)
        ):
            return await ahead(request)
        key = (request.name, query.type, query.do, bool(query.flags & wire.CD))
        entry = self._positive.get(key) or self._negative.get(key)
        if entry is None:
            self._metrics.cache_misses[self._label] += 1
            return await self._fetch(key, request, ahead)
        return await self._serve_entry(key, entry, request, ahead)

    async def _serve_entry(self, key: Key, entry: Entry, request: Request, ahead: Handler) -> Reply | None:
        left = entry.until - self._clock()
        if left > 0:
            self._count_hit(entry)
            request.note(f"cache: {entry.ttl - left:.0f} s old, {left:.0f} s left")
            entry.hits += 1
            if self._wants_prefetch(entry, left):
                self._refresh(key, request, ahead)
            return self._aged(entry.answer(request.query, int(left) if left >= 1 else 1), left)
        if -left > self.options.stale:
            self._metrics.cache_misses[self._label] += 1
            return await self._fetch(key, request, ahead)
        return await self._serve_stale(key, entry, request, ahead)

    def _count_hit(self, entry: Entry) -> None:
        kind = "success" if entry.reply.rcode == wire.NOERROR and entry.reply.answer else "denial"
        self._metrics.cache_hits[self._label, kind] += 1

    def _aged(self, reply: Reply, left: float) -> Reply:
        """The answer is the same until its TTL changes. With `prefetch` every question has to be counted."""
        if self.options.prefetch or left < 1:
            return reply
        return msgspec.structs.replace(reply, repeat=left - int(left))

    def _wants_prefetch(self, entry: Entry, left: float) -> bool:
        options = self.options
        return 0 < options.prefetch <= entry.hits and left <= entry.ttl * options.prefetch_part

    async def _serve_stale(self, key: Key, entry: Entry, request: Request, ahead: Handler) -> Reply | None:
        self._count_hit(entry)
        if self.options.verify:
            fresh = await self._fetch(key, request, ahead)
            if fresh is not None and fresh.rcode != wire.SERVFAIL:
                return fresh
        else:
            self._refresh(key, request, ahead)
        return entry.answer(request.query, 0)

    def _refresh(self, key: Key, request: Request, ahead: Handler) -> None:
        """Asks anew at the side, once at a time."""
        if key not in self._refreshing:
            task = self._refreshing[key] = asyncio.create_task(self._fetch(key, request, ahead))
            task.add_done_callback(lambda _: self._refreshing.pop(key, None))

    async def _fetch(self, key: Key, request: Request, ahead: Handler) -> Reply | None:
        reply = await ahead(request)
        if reply is None or reply.flags & wire.TC:
            return reply
        bounds = self._bounds(reply, request.name)
        if bounds is None:
            return reply
        ttl = bounds.ttl_of(reply)
        capped = reply if self.options.keep_ttl or reply.rcode == wire.SERVFAIL else with_ttl(reply, ttl)
        if reply.foreign:
            self._store(key, Entry(capped, request.query.name, self._clock() + ttl, ttl))
        return capped

    def _bounds(self, reply: Reply, name: bytes) -> Bounds | None:
        """Which limits hold for an answer; None if it is not to be touched."""
        options = self.options
        if reply.rcode == wire.SERVFAIL:
            return options.servfail if reply.foreign else None
        if reply.rcode == wire.NOERROR and reply.answer:
            return None if in_zones(name, options.uncached_success) else options.success
        denial = reply.rcode in (wire.NOERROR, wire.NXDOMAIN)
        if not denial or not any(record.type == wire.SOA for record in reply.authority):
            return None
        return None if in_zones(name, options.uncached_denial) else options.denial

    def _store(self, key: Key, entry: Entry) -> None:
        positive = entry.reply.rcode == wire.NOERROR and bool(entry.reply.answer)
        old, new = (self._negative, self._positive) if positive else (self._positive, self._negative)
        stale = old.get(key)
        if stale and entry.reply.rcode == wire.SERVFAIL and self.options.stale:
            return
        old.drop(key)
        new.put(key, entry)


PLUGIN = Cache
