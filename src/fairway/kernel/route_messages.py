"""Messages of the kernel's route netlink, as bytes: links, addresses and routes. Pure.

Only what a message looks like belongs here; sending it and judging the answer is for `netlink`.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from fairway.kernel.netlink_orders import Request
from fairway.kernel.nfnetlink import attribute, attributes, nested, text

# The number that marks routes as ours (`proto 96` in `ip route`), so that we only ever delete our own.
ROUTE_PROTOCOL = 96
_NEW_LINK, _DELETE_LINK, _GET_LINK, _SET_LINK = 16, 17, 18, 19
_NEW_ADDRESS, _GET_ADDRESS = 20, 22
_NEW_ROUTE, _DELETE_ROUTE, _GET_ROUTE = 24, 25, 26
_REPLACE, _EXCLUSIVE, _CREATE = 0x100, 0x200, 0x400
_UP = 0x1
_HARDWARE_ADDRESS, _LINK_NAME, _MASTER, _PORT, _LINK_INFO, _NAMESPACE = 1, 3, 10, 12, 18, 28
_INFO_KIND, _INFO_DATA, _VETH_PEER, _PORT_HAIRPIN = 1, 2, 1, 4
_ADDRESS, _LOCAL = 1, 2
_DESTINATION, _DEVICE, _GATEWAY = 1, 4, 5
_MAIN_TABLE, _UNICAST = 254, 1
_SCOPE_ANYWHERE, _SCOPE_LINK = 0, 253
# struct ifinfomsg: family, type, index, flags, changed flags; struct ifaddrmsg: family, prefix, flags, scope,
# index; struct rtmsg: family, destination's and source's prefix, tos, table, protocol, scope, type, flags
_LINK = struct.Struct("=BxHiII")
_ADDR = struct.Struct("=BBBBI")
_ROUTE = struct.Struct("=BBBBBBBBI")


# ---- links -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinkSeen:
    index: int
    name: str
    kind: str
    up: bool
    master: int


def all_links() -> Request:
    return Request(_GET_LINK, _link_header())


def link_named(name: str) -> Request:
    return Request(_GET_LINK, _link_header() + text(_LINK_NAME, name))


def parse_link(body: bytes) -> LinkSeen:
    _, _, index, flags, _ = _LINK.unpack_from(body)
    parts = dict(attributes(body[_LINK.size :]))
    info = dict(attributes(parts.get(_LINK_INFO, b"")))
    return LinkSeen(
        index,
        _text(parts.get(_LINK_NAME, b"")),
        _text(info.get(_INFO_KIND, b"")),
        bool(flags & _UP),
        _number(parts.get(_MASTER, b"")),
    )


def add_bridge(name: str, hardware_address: bytes) -> Request:
    return _add_link(name, text(_INFO_KIND, "bridge"), attribute(_HARDWARE_ADDRESS, hardware_address))


def add_veth(name: str, peer: str, peer_namespace: int | None = None) -> Request:
    """`peer_namespace` is an open file that names the namespace."""
    other = _link_header() + text(_LINK_NAME, peer)
    if peer_namespace is not None:
        other += attribute(_NAMESPACE, struct.pack("=I", peer_namespace))
    return _add_link(name, text(_INFO_KIND, "veth") + nested(_INFO_DATA, attribute(_VETH_PEER, other)))


def _add_link(name: str, info: bytes, more: bytes = b"") -> Request:
    body = _link_header() + text(_LINK_NAME, name) + more + nested(_LINK_INFO, info)
    return Request(_NEW_LINK, body, _CREATE | _EXCLUSIVE)


def delete_link(index: int) -> Request:
    return Request(_DELETE_LINK, _link_header(index))


def set_up(index: int) -> Request:
    return Request(_SET_LINK, _link_header(index, _UP, _UP))


def attach(index: int, master: int) -> Request:
    return Request(_SET_LINK, _link_header(index) + attribute(_MASTER, struct.pack("=I", master)))


def hairpin(index: int) -> Request:
    port = nested(_PORT, attribute(_PORT_HAIRPIN, b"\1"))
    return Request(_SET_LINK, _LINK.pack(socket.AF_BRIDGE, 0, index, 0, 0) + port)


def _link_header(index: int = 0, flags: int = 0, changed: int = 0) -> bytes:
    return _LINK.pack(socket.AF_UNSPEC, 0, index, flags, changed)


# ---- addresses -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AddressSeen:
    index: int
    address: bytes
    prefix: int


def all_addresses() -> Request:
    return Request(_GET_ADDRESS, _ADDR.pack(socket.AF_INET, 0, 0, 0, 0))


def parse_address(body: bytes) -> AddressSeen:
    _, prefix, _, _, index = _ADDR.unpack_from(body)
    return AddressSeen(index, dict(attributes(body[_ADDR.size :]))[_LOCAL], prefix)


def add_address(index: int, address: bytes, prefix: int) -> Request:
    header = _ADDR.pack(socket.AF_INET, prefix, 0, 0, index)
    body = header + attribute(_LOCAL, address) + attribute(_ADDRESS, address)
    return Request(_NEW_ADDRESS, body, _CREATE | _EXCLUSIVE)


# ---- routes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RouteSeen:
    destination: bytes
    prefix: int
    gateway: bytes
    device: int
    protocol: int
    in_main_table: bool


def all_routes() -> Request:
    return Request(_GET_ROUTE, _ROUTE.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0))


def parse_route(body: bytes) -> RouteSeen:
    _, prefix, _, _, table, protocol, _, _, _ = _ROUTE.unpack_from(body)
    parts = dict(attributes(body[_ROUTE.size :]))
    return RouteSeen(
        parts.get(_DESTINATION, b""),
        prefix,
        parts.get(_GATEWAY, b""),
        _number(parts.get(_DEVICE, b"")),
        protocol,
        table == _MAIN_TABLE,
    )


def put_route(destination: bytes, prefix: int, gateway: bytes, device: int) -> Request:
    return Request(_NEW_ROUTE, _route(destination, prefix, gateway, device), _CREATE | _REPLACE)


def delete_route(destination: bytes, prefix: int, gateway: bytes, device: int) -> Request:
    return Request(_DELETE_ROUTE, _route(destination, prefix, gateway, device))


def _route(destination: bytes, prefix: int, gateway: bytes, device: int) -> bytes:
    """What is reached without a gateway is on the link."""
    scope = _SCOPE_ANYWHERE if gateway else _SCOPE_LINK
    body = _ROUTE.pack(socket.AF_INET, prefix, 0, 0, _MAIN_TABLE, ROUTE_PROTOCOL, scope, _UNICAST, 0)
    body += attribute(_DESTINATION, destination) if prefix else b""
    body += attribute(_GATEWAY, gateway) if gateway else b""
    return body + (attribute(_DEVICE, struct.pack("=I", device)) if device else b"")


def _text(value: bytes) -> str:
    return value.rstrip(b"\0").decode()


def _number(value: bytes) -> int:
    return int(struct.unpack("=I", value)[0]) if value else 0
