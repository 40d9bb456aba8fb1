"""`hosts [FILE] [ZONES…] { entries; ttl; no_reverse; reload; fallthrough }`: names as /etc/hosts has them.

`table` holds the entries. The file is looked at again every few seconds and read anew when it changed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

import structlog

from fairway.dns import names, wire
from fairway.dns.arguments import duration, in_zones, integer, overlap, zones
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.plugins.hosts.table import Table
from fairway.dns.wire import Record, Reply
from fairway.dns.zone.zone import Zone

log = structlog.get_logger()
_FILE = "/etc/hosts"
_TTL, _RELOAD = 3600, 5.0


class Hosts(Plugin):
    name = "hosts"
    same_for_all = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        line = directives[0]
        self._file = line.args[0] if line.args else _FILE
        self._zones = zones(line, line.args[1:], setup.zones)
        self._ttl, self._every, self._reverse = _TTL, _RELOAD, True
        self._fallthrough: tuple[bytes, ...] = ()
        self._inline: list[str] = []
        for inner in line.body:
            self._option(inner)
        self._seen: tuple[int, int] | None = None
        self._task: asyncio.Task[None] | None = None
        self.table = Table.parse(self._inline)
        self._read()

    def _option(self, line: Directive) -> None:
        match line.name:
            case "ttl":
                self._ttl = integer(line, line.one(), 1)
            case "reload":
                self._every = duration(line, line.one())
            case "no_reverse":
                self._reverse = False
            case "fallthrough":
                self._fallthrough = zones(line, line.args, (names.ROOT,))
            case address if names.packed(address):
                self._inline.append(" ".join((address, *line.args)))
            case _:
                raise line.unknown_property("hosts")

    def passes(self, zone: Zone) -> bool:
        """Only if no name of the cluster could stand here: the file may change at any time."""
        return not overlap(zone.settings.zones, self._zones)

    async def start(self) -> None:
        if self._every:
            self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        if not in_zones(request.name, self._zones):
            return await ahead(request)
        records = self._records(request)
        if records is not None:
            request.note(f"hosts: {self._file} or the Corefile")
            return Reply(wire.NOERROR, records, flags=wire.AA)
        # Addresses that nobody wrote down here are never this file's to deny.
        if request.query.type == wire.PTR or in_zones(request.name, self._fallthrough):
            return await ahead(request)
        return Reply(wire.SERVFAIL)

    def _records(self, request: Request) -> tuple[Record, ...] | None:
        """What stands here for the question: perhaps nothing of that type, or (None) no such name."""
        name, rdtype = request.name, request.query.type
        if rdtype == wire.PTR:
            hosts = self.table.names.get(name, ()) if self._reverse else ()
            return tuple(Record(name, wire.PTR, self._ttl, host) for host in hosts) or None
        if name not in self.table.addresses:
            return None
        size = {wire.A: 4, wire.AAAA: 16}.get(rdtype)
        found = [address for address in self.table.addresses[name] if len(address) == size]
        return tuple(Record(name, rdtype, self._ttl, address) for address in found)

    # ---- the file --------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            self._read()

    def _read(self) -> None:
        try:
            status = os.stat(self._file)
            seen = (status.st_mtime_ns, status.st_size)
            if seen != self._seen:
                lines = self.setup.around.read_file(self._file).splitlines()
                self.table = Table.parse([*self._inline, *lines])
                self._seen = seen
        except OSError as error:
            log.warning("hosts file not read", file=self._file, error=str(error))


PLUGIN = Hosts
