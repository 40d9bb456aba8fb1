"""Connection tracking: list flows of this network namespace and delete single ones.

The kernel is behind a small interface with a real implementation and one in memory. Which flows are stale is
for others to decide.
"""

from __future__ import annotations

import errno
import socket
import struct
from typing import Protocol

import msgspec

from fairway.kernel import nfnetlink

_GET, _DELETE = (1 << 8) | 1, (1 << 8) | 2
_TUPLE_ORIGINAL, _TUPLE_REPLY, _ID, _ZONE, _FILTER = 1, 2, 12, 18, 25
_TUPLE_IP, _TUPLE_PROTOCOL = 1, 2
_FILTER_ORIGINAL, _FILTER_REPLY = 1, 2
_BY_DESTINATION, _BY_PROTOCOL, _BY_DESTINATION_PORT = 1 << 1, 1 << 3, 1 << 5
_UDP = 17
_COUNTERS, _COUNTER_BYTES = (9, 10), 2
PROTOCOLS = {"tcp": 6, "udp": _UDP, "sctp": 132}
# attribute numbers of the source and destination address in a tuple
_ADDRESSES = {socket.AF_INET: (1, 2), socket.AF_INET6: (3, 4)}


class Flow(msgspec.Struct, frozen=True, gc=False):
    """A flow: where its client sends to, and who answers. They differ where it was translated."""

    client: str
    client_port: int
    address: str
    port: int
    answering: str
    answering_port: int
    # What the kernel knows it by.
    identity: bytes = b""
    # In both directions; 0 unless the kernel counts (net.netfilter.nf_conntrack_acct).
    size: int = 0


class Conntrack(Protocol):
    def udp_flows(self, version: int, address: str = "", port: int = 0) -> list[Flow]:
        """All UDP flows of one IP version, or only those sent to an address or a port."""

    def tracked(self, version: int, protocol: str, address: str = "", port: int = 0) -> list[Flow]:
        """The same for `tcp`, `udp` or `sctp`."""

    def delete(self, version: int, flow: Flow) -> None:
        """Deleting what has gone already is fine."""

    def close(self) -> None: ...


class KernelConntrack:
    def __init__(self) -> None:
        self._socket = nfnetlink.Socket()

    def udp_flows(self, version: int, address: str = "", port: int = 0) -> list[Flow]:
        return self.tracked(version, "udp", address, port)

    def tracked(self, version: int, protocol: str, address: str = "", port: int = 0) -> list[Flow]:
        family, number = _family(version), PROTOCOLS[protocol]
        messages = self._socket.dump(_GET, family, _filter(family, number, address, port))
        flows = [flow for message in messages if (flow := _parse(family, number, message)) is not None]
        return [f for f in flows if address in ("", f.address) and port in (0, f.port)]

    def delete(self, version: int, flow: Flow) -> None:
        try:
            self._socket.order(_DELETE, _family(version), flow.identity)
        except nfnetlink.NetfilterError as error:
            if error.errno != errno.ENOENT:
                raise

    def close(self) -> None:
        self._socket.close()


class FakeConntrack:
    """UDP flows by IP version."""

    def __init__(self) -> None:
        self.flows: dict[int, list[Flow]] = {4: [], 6: []}

    def udp_flows(self, version: int, address: str = "", port: int = 0) -> list[Flow]:
        return [f for f in self.flows[version] if address in ("", f.address) and port in (0, f.port)]

    def tracked(self, version: int, protocol: str, address: str = "", port: int = 0) -> list[Flow]:
        return self.udp_flows(version, address, port) if protocol == "udp" else []

    def delete(self, version: int, flow: Flow) -> None:
        if flow in self.flows[version]:
            self.flows[version].remove(flow)

    def close(self) -> None:
        return None


def _family(version: int) -> socket.AddressFamily:
    return socket.AF_INET if version == 4 else socket.AF_INET6


def _filter(family: socket.AddressFamily, number: int, address: str, port: int) -> bytes:
    """Let the kernel leave out what isn't asked for: tables may hold hundreds of thousands of flows."""
    flags, parts = _BY_PROTOCOL, []
    # Kernels up to at least 6.18 compare IPv6 addresses the wrong way round and drop what matches.
    if address and family == socket.AF_INET:
        flags |= _BY_DESTINATION
        value = nfnetlink.attribute(_ADDRESSES[family][1], socket.inet_pton(family, address))
        parts.append(nfnetlink.nested(_TUPLE_IP, value))
    protocol = nfnetlink.attribute(1, bytes([number]))
    if port:
        flags |= _BY_DESTINATION_PORT
        protocol += nfnetlink.attribute(3, struct.pack(">H", port))
    parts.append(nfnetlink.nested(_TUPLE_PROTOCOL, protocol))
    flag_attributes = (
        nfnetlink.attribute(_FILTER_ORIGINAL, struct.pack("=I", flags)),
        nfnetlink.attribute(_FILTER_REPLY, struct.pack("=I", 0)),
    )
    return nfnetlink.nested(_TUPLE_ORIGINAL, *parts) + nfnetlink.nested(_FILTER, *flag_attributes)


def _parse(family: socket.AddressFamily, number: int, message: bytes) -> Flow | None:
    found = dict(nfnetlink.attributes(message))
    original = _tuple(family, number, found.get(_TUPLE_ORIGINAL, b""))
    reply = _tuple(family, number, found.get(_TUPLE_REPLY, b""))
    if original is None or reply is None:
        return None
    # A tuple is only unique within its zone; the id keeps us from deleting a successor of the same tuple.
    identity = nfnetlink.nested(_TUPLE_ORIGINAL, found[_TUPLE_ORIGINAL])
    for kind in (_ZONE, _ID):
        if kind in found:
            identity += nfnetlink.attribute(kind, found[kind])
    size = sum(_bytes(found.get(kind, b"")) for kind in _COUNTERS)
    return Flow(original[0], original[1], original[2], original[3], reply[0], reply[1], identity, size)


def _bytes(counters: bytes) -> int:
    return int.from_bytes(dict(nfnetlink.attributes(counters)).get(_COUNTER_BYTES, b""), "big")


def _tuple(family: socket.AddressFamily, number: int, data: bytes) -> tuple[str, int, str, int] | None:
    """Source, its port, destination, its port; None if it is of another protocol."""
    parts = dict(nfnetlink.attributes(data))
    protocol = dict(nfnetlink.attributes(parts.get(_TUPLE_PROTOCOL, b"")))
    if protocol.get(1, b"\0")[0] != number:
        return None
    addresses = dict(nfnetlink.attributes(parts[_TUPLE_IP]))
    source, destination = (socket.inet_ntop(family, addresses[kind]) for kind in _ADDRESSES[family])
    return source, _port(protocol[2]), destination, _port(protocol[3])


def _port(data: bytes) -> int:
    return int.from_bytes(data[:2], "big")
