"""IPVS: virtual servers and the real servers behind them, in the network namespace it was opened in.

Talks generic netlink. /proc/net/ip_vs would tell all in one piece, but where several namespaces have servers,
kernels up to at least 6.1 leave out some. What the servers are for is for others to decide. The fake is in
`fake_ipvs`.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import os
import socket
import struct
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from fairway.kernel import netlink_orders
from fairway.kernel.errors import KernelError
from fairway.kernel.netlink_orders import Request, RequestRefused
from fairway.kernel.nfnetlink import attribute, attributes, nested, text

# Include the client's port in what the schedulers sh and mh hash.
HASH_PORTS = 0x10

_PERSISTENT = 0x1
_CONTROL, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 16, 3, 1, 2
_SERVICE, _DESTINATION = 1, 2
_GET_SERVERS, _GET_TARGETS = 4, 8
_STATISTICS, _STATISTICS_64 = 10, 12
_GENERAL = struct.Struct("=BBH")
_PROTOCOLS = {"tcp": socket.IPPROTO_TCP, "udp": socket.IPPROTO_UDP, "sctp": socket.IPPROTO_SCTP}
_PROTOCOL_NAMES = {int(number): name for name, number in _PROTOCOLS.items()}
_VERSIONS = {4: socket.AF_INET, 6: socket.AF_INET6}
_MASQUERADE = 0
_WHOLE_ADDRESS = {4: b"\xff\xff\xff\xff", 6: struct.pack("=I", 128)}


class Verb(enum.IntEnum):
    """What can be ordered, by the kernel's numbers."""

    ADD_SERVER = 1
    SET_SERVER = 2
    DELETE_SERVER = 3
    ADD_TARGET = 5
    SET_TARGET = 6
    DELETE_TARGET = 7


class ServerName(NamedTuple):
    """A virtual server: an address and port, or (with neither, nor a protocol) packets with a mark."""

    version: int
    protocol: str
    address: str
    port: int
    mark: int = 0

    def __str__(self) -> str:
        return f"mark {self.mark}" if self.mark else f"{self.protocol} {self.address} port {self.port}"


class Balancing(NamedTuple):
    scheduler: str
    persistence: int = 0
    """Seconds that a client stays with its real server; 0 for no such tie."""
    flags: int = 0


class Target(NamedTuple):
    """A real server. It is reached by masquerading."""

    address: str
    port: int


class Load(NamedTuple):
    weight: int
    active: int = 0
    inactive: int = 0


class Passed(NamedTuple):
    """What a virtual server has seen since it was made."""

    connections: int
    received: int
    """Bytes from clients, headers of IP included, as in the other direction."""
    sent: int


class VirtualServer(NamedTuple):
    balancing: Balancing
    targets: dict[Target, Load]


class Order(NamedTuple):
    verb: Verb
    server: ServerName
    balancing: Balancing | None = None
    target: Target | None = None
    weight: int = 1


class IpvsError(KernelError):
    """The kernel refused a change; `errno` says why."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(what)
        self.errno = code


class IpvsUnavailable(IpvsError):
    """The kernel has no IPVS, or lacks a part of it; the message says what to do."""


class Ipvs(Protocol):
    """What the rest of Fairway may ask of IPVS."""

    def require(self) -> None:
        """Raises `IpvsUnavailable` on a kernel without IPVS that can't load it either."""

    def names(self) -> dict[ServerName, Balancing]:
        """All servers there are, without their flags; none if the kernel has no IPVS. A single question."""

    def servers(self) -> dict[ServerName, VirtualServer]:
        """Everything there is, for which each server is asked after."""

    def passed(self) -> dict[ServerName, Passed]:
        """What all servers have seen. A single question."""

    def loads(self, server: ServerName) -> dict[Target, Load]:
        """The real servers of one virtual server; none if there is no such server."""

    def change(self, orders: Sequence[Order]) -> None:
        """Carry out all that can be; raises if one was refused. Deleting what doesn't exist is fine."""

    def close(self) -> None: ...


class KernelIpvs:
    def __init__(self) -> None:
        self._socket = netlink_orders.Socket(netlink_orders.GENERIC)
        self._family = 0
        with contextlib.suppress(IpvsUnavailable):
            self.require()

    def require(self) -> None:
        """Asking for it makes the kernel load the module, where it can."""
        if self._family:
            return
        body = _GENERAL.pack(_GET_FAMILY, 1, 0) + text(_FAMILY_NAME, "IPVS")
        try:
            answer = self._socket.ask(Request(_CONTROL, body))[0]
        except RequestRefused as error:
            raise unavailable(error.errno or 0) from error
        found = dict(attributes(answer[_GENERAL.size :]))
        self._family = int(struct.unpack_from("=H", found[_FAMILY_ID])[0])

    def names(self) -> dict[ServerName, Balancing]:
        answers = self._dump(_GET_SERVERS) if self._family else []
        return dict(_server(parts[_SERVICE]) for parts in answers)

    def passed(self) -> dict[ServerName, Passed]:
        answers = self._dump(_GET_SERVERS) if self._family else []
        return {_server(parts[_SERVICE])[0]: _passed(parts[_SERVICE]) for parts in answers}

    def servers(self) -> dict[ServerName, VirtualServer]:
        return {name: VirtualServer(how, self.loads(name)) for name, how in self.names().items()}

    def loads(self, server: ServerName) -> dict[Target, Load]:
        try:
            answers = self._dump(_GET_TARGETS, nested(_SERVICE, *_service(server, None)))
        except RequestRefused as error:
            if error.errno in (errno.ENOENT, errno.ESRCH):
                return {}
            raise
        return dict(_load(server.version, parts[_DESTINATION]) for parts in answers)

    def change(self, orders: Sequence[Order]) -> None:
        if not orders:
            return
        self.require()
        refused = self._socket.order([Request(self._family, encode(order)) for order in orders])
        for position, code in refused.items():
            order = orders[position]
            deletes = order.verb in (Verb.DELETE_SERVER, Verb.DELETE_TARGET)
            if not (deletes and code in (errno.ENOENT, errno.ESRCH)):
                raise refusal(order, code)

    def close(self) -> None:
        self._socket.close()

    def _dump(self, verb: int, body: bytes = b"") -> list[dict[int, bytes]]:
        request = Request(self._family, _GENERAL.pack(verb, 1, 0) + body)
        answers = self._socket.ask(request, dump=True)
        return [dict(attributes(answer[_GENERAL.size :])) for answer in answers]


def unavailable(code: int) -> IpvsUnavailable:
    return IpvsUnavailable(
        code,
        "this kernel has no IPVS: load its module with `modprobe ip_vs`, "
        "or choose another mode, such as --proxy-mode nftables",
    )


def refusal(order: Order, code: int) -> IpvsError:
    what = f"{order.verb.name.replace('_', ' ').lower()} {order.server}: {os.strerror(code)}"
    if order.balancing is not None and code == errno.ENOENT:
        module = f"ip_vs_{order.balancing.scheduler}"
        return IpvsUnavailable(
            code,
            f"this kernel has no IPVS scheduler {order.balancing.scheduler}: "
            f"load its module with `modprobe {module}`, or choose another --ipvs-scheduler",
        )
    return IpvsError(code, what)


# -- netlink messages ----------------------------------------------------------------------------------


def encode(order: Order) -> bytes:
    parts = [_GENERAL.pack(order.verb, 1, 0), nested(_SERVICE, *_service(order.server, order.balancing))]
    if order.target is not None:
        parts.append(nested(_DESTINATION, *_destination(order.server.version, order.target, order.weight)))
    return b"".join(parts)


def _service(name: ServerName, balancing: Balancing | None) -> Iterable[bytes]:
    yield attribute(1, struct.pack("=H", _VERSIONS[name.version]))
    if name.mark:
        yield attribute(5, struct.pack("=I", name.mark))
    else:
        yield attribute(2, struct.pack("=H", _PROTOCOLS[name.protocol]))
        yield attribute(3, _address(name.version, name.address))
        yield attribute(4, struct.pack(">H", name.port))
    if balancing is not None:
        flags = balancing.flags | (_PERSISTENT if balancing.persistence else 0)
        yield text(6, balancing.scheduler)
        yield attribute(7, struct.pack("=II", flags, 0xFFFFFFFF))
        yield attribute(8, struct.pack("=I", balancing.persistence))
        yield attribute(9, _WHOLE_ADDRESS[name.version])


def _destination(version: int, target: Target, weight: int) -> Iterable[bytes]:
    yield attribute(1, _address(version, target.address))
    yield attribute(2, struct.pack(">H", target.port))
    yield attribute(3, struct.pack("=I", _MASQUERADE))
    yield attribute(4, struct.pack("=I", weight))
    yield attribute(5, struct.pack("=I", 0))
    yield attribute(6, struct.pack("=I", 0))
    yield attribute(11, struct.pack("=H", _VERSIONS[version]))


def _server(data: bytes) -> tuple[ServerName, Balancing]:
    parts = dict(attributes(data))
    version = 6 if struct.unpack("=H", parts[1])[0] == socket.AF_INET6 else 4
    flags = struct.unpack("=II", parts[7])[0]
    persistence = struct.unpack("=I", parts[8])[0] if flags & _PERSISTENT else 0
    how = Balancing(parts[6].rstrip(b"\0").decode(), int(persistence))
    if 5 in parts:
        return ServerName(version, "", "", 0, struct.unpack("=I", parts[5])[0]), how
    protocol = _PROTOCOL_NAMES.get(struct.unpack("=H", parts[2])[0], "")
    return ServerName(version, protocol, _read(version, parts[3]), int.from_bytes(parts[4], "big")), how


def _passed(data: bytes) -> Passed:
    """Kernels before 4.1 have nothing but 32 bits for it."""
    parts = dict(attributes(data))
    told = dict(attributes(parts.get(_STATISTICS_64) or parts[_STATISTICS]))
    return Passed(*(int.from_bytes(told[kind], sys.byteorder) for kind in (1, 4, 5)))


def _load(version: int, data: bytes) -> tuple[Target, Load]:
    parts = dict(attributes(data))
    weight, active, inactive = (struct.unpack("=I", parts[kind])[0] for kind in (4, 7, 8))
    target = Target(_read(version, parts[1]), int.from_bytes(parts[2], "big"))
    return target, Load(weight, active, inactive)


def _read(version: int, packed: bytes) -> str:
    return socket.inet_ntop(_VERSIONS[version], packed[: 4 if version == 4 else 16])


def _address(version: int, address: str) -> bytes:
    return socket.inet_pton(_VERSIONS[version], address).ljust(16, b"\0")
