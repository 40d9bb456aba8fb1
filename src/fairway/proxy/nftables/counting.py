"""Connections by Service port, from the counters of the elements in `services`.

The first packet of every connection passes there, and no other. An element that leads elsewhere than before
is a new one to the kernel, so its counter is read before it goes; a connection that begins between that and
the change itself is missed.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Collection, Iterator, Mapping

import structlog

from fairway.kernel.conntrack import PROTOCOLS
from fairway.kernel.counters import Counters, ElementCount
from fairway.metrics import Figure
from fairway.proxy.model import Family, Protocol, ServicePortName
from fairway.proxy.nftables.elements import Frontend
from fairway.proxy.nftables.ruleset import COUNTED, REFUSE
from fairway.proxy.service_counts import Count, Reading, Totals, Traffic

log = structlog.get_logger()

Holders = Mapping[Frontend, ServicePortName]
_PROTOCOLS = {number: Protocol(name) for name, number in PROTOCOLS.items()}
# Up to here one question for each element is cheaper than reading all of them.
_FEW = 256
_REFUSED = REFUSE.removeprefix("goto ")


class ConnectionCounts:
    """`last_look` and `count` are called from the thread that programs, what `count` returns from another."""

    def __init__(self, programming: Counters, counting: Counters, table: str) -> None:
        self._programming, self._counting, self._table = programming, counting, table
        self._totals = Totals()
        # What has been read for the last time since `count` was called.
        self._closed: set[Frontend] = set()

    @contextlib.contextmanager
    def last_look(self, going: Holders) -> Iterator[None]:
        """The elements of these frontends go inside the context; if it fails, they may have stayed."""
        if not going:
            yield
            return
        self._closed.update(going)
        try:
            readings = [reading for family in Family for reading in self._read(family, going)]
        except OSError as error:
            log.warning("connections since the last look are not counted", error=str(error))
        else:
            self._totals.observe(readings)
        yield
        self._totals.forget(going)

    def count(self, holders: Holders) -> Count:
        closed = self._closed = set()

        def counted() -> Iterator[Figure]:
            found = [(family, self._counting.elements(family, self._table, COUNTED)) for family in Family]
            readings = [reading for family, counts in found for reading in _readings(family, counts, holders)]
            # Asked for each at the last moment: one that has been closed meanwhile was counted then.
            self._totals.observe(reading for reading in readings if reading.source not in closed)
            return self._totals.figures(frozenset(holders.values()))

        return counted

    def _read(self, family: Family, holders: Holders) -> Iterator[Reading]:
        keys = [_key(frontend) for frontend in holders if frontend.family is family]
        if len(keys) > _FEW:
            counts = self._programming.elements(family, self._table, COUNTED)
        else:
            counts = self._programming.some_elements(family, self._table, COUNTED, keys)
        return _readings(family, counts, holders)


def _readings(family: Family, counts: Collection[ElementCount], holders: Holders) -> Iterator[Reading]:
    for key, chain, packets in counts:
        frontend = _known_by(family, key)
        name = holders.get(frontend)
        if name is not None and _is_carried(chain, frontend.protocol):
            yield Reading(frontend, name, Traffic(packets))


def _is_carried(chain: str, protocol: Protocol) -> bool:
    """Whether connections are led to endpoints there, rather than refused or dropped."""
    return chain not in ("", _REFUSED) and not chain.endswith(f"-{protocol}-0")


def _key(frontend: Frontend) -> bytes:
    """As the kernel has it."""
    kind = socket.AF_INET if frontend.family is Family.IPV4 else socket.AF_INET6
    protocol = bytes([PROTOCOLS[frontend.protocol], 0, 0, 0])
    return socket.inet_pton(kind, frontend.address) + protocol + frontend.port.to_bytes(2, "big") + b"\0\0"


def _known_by(family: Family, key: bytes) -> Frontend:
    packed, protocol, port = key[:-8], key[-8], key[-4:-2]
    address = socket.inet_ntoa(packed) if len(packed) == 4 else str(ipaddress.IPv6Address(packed))
    return Frontend(family, address, _PROTOCOLS[protocol], int.from_bytes(port, "big"))
