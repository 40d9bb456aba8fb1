"""Links, addresses and routes: a small interface over netlink, bound to one network namespace.

Adding what exists and deleting what doesn't are both fine, so callers can simply state what they want.
Calls block for well under a millisecond each; run a batch of them in a thread. No policy belongs here.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from typing import Protocol, TypeVar

from fairway.kernel import namespaces, netlink_orders
from fairway.kernel import route_messages as messages
from fairway.kernel.errors import KernelError
from fairway.kernel.netlink_orders import Request, RequestRefused

_DEFAULT = IPv4Network("0.0.0.0/0")
T = TypeVar("T")


class NetlinkError(KernelError):
    """The kernel refused a change; `errno` says why."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(f"{what}: {errno.errorcode.get(code, code)}")
        self.errno = code


@dataclass(frozen=True, slots=True)
class Link:
    index: int
    name: str
    kind: str = ""
    up: bool = False
    master: int = 0


@dataclass(frozen=True, slots=True)
class Route:
    """`destination` via `gateway`, or directly on `device`."""

    destination: IPv4Network
    gateway: str = ""
    device: str = ""


class Netlink(Protocol):
    """What the rest of Fairway may ask of the kernel's network configuration."""

    def links(self) -> list[Link]: ...
    def link(self, name: str) -> Link | None: ...
    def add_bridge(self, name: str) -> None: ...
    def add_veth(self, name: str, peer: str, peer_namespace: Path | None = None) -> None: ...
    def delete_link(self, name: str) -> None: ...
    def set_up(self, name: str) -> None: ...
    def attach(self, name: str, bridge: str, hairpin: bool = False) -> None: ...
    def addresses(self, name: str) -> list[IPv4Interface]: ...
    def add_address(self, name: str, address: IPv4Interface) -> None: ...
    def routes(self, everyones: bool = False) -> list[Route]: ...
    def put_route(self, route: Route) -> None: ...
    def delete_route(self, route: Route) -> None: ...
    def close(self) -> None: ...


class KernelNetlink:
    """The real thing: one netlink socket, which stays in the namespace it was opened in."""

    def __init__(self, namespace: Path | None = None) -> None:
        self._socket = namespaces.run_inside(namespace, _socket) if namespace else _socket()

    def close(self) -> None:
        self._socket.close()

    # -- links -----------------------------------------------------------------------------------------

    def links(self) -> list[Link]:
        return [_link(body) for body in self._socket.ask(messages.all_links(), dump=True)]

    def link(self, name: str) -> Link | None:
        try:
            return _link(self._socket.ask(messages.link_named(name))[0])
        except RequestRefused as error:
            if error.errno == errno.ENODEV:
                return None
            raise NetlinkError(error.errno or 0, f"look up {name}") from error

    def add_bridge(self, name: str) -> None:
        """With an address of its own: else it would take that of a port and change it with its ports,
        and whoever has the old one in its neighbour table would be cut off for a while.
        """
        hardware_address = bytes((0x02, 0xFA, *os.urandom(4)))
        self._order(messages.add_bridge(name, hardware_address), f"add bridge {name}", errno.EEXIST)

    def add_veth(self, name: str, peer: str, peer_namespace: Path | None = None) -> None:
        """A pair of devices, the second one made directly in its own namespace."""
        if peer_namespace is None:
            self._order(messages.add_veth(name, peer), f"add veth {name}", errno.EEXIST)
            return
        with peer_namespace.open() as namespace:
            request = messages.add_veth(name, peer, namespace.fileno())
            self._order(request, f"add veth {name}", errno.EEXIST)

    def delete_link(self, name: str) -> None:
        if link := self.link(name):
            self._order(messages.delete_link(link.index), f"delete {name}", errno.ENODEV)

    def set_up(self, name: str) -> None:
        self._order(messages.set_up(self._index(name)), f"set {name} up")

    def attach(self, name: str, bridge: str, hairpin: bool = False) -> None:
        """Make a device a port of a bridge; `hairpin` lets frames leave by the port they came in."""
        index, master = self._index(name), self._index(bridge)
        self._order(messages.attach(index, master), f"attach {name}")
        if hairpin:
            self._order(messages.hairpin(index), f"hairpin {name}")

    # -- addresses and routes --------------------------------------------------------------------------

    def addresses(self, name: str) -> list[IPv4Interface]:
        index = self._index(name)
        answers = self._socket.ask(messages.all_addresses(), dump=True)
        found = [messages.parse_address(body) for body in answers]
        return [IPv4Interface((f.address, f.prefix)) for f in found if f.index == index]

    def add_address(self, name: str, address: IPv4Interface) -> None:
        request = messages.add_address(self._index(name), address.ip.packed, address.network.prefixlen)
        self._order(request, f"add {address} to {name}", errno.EEXIST)

    def routes(self, everyones: bool = False) -> list[Route]:
        """Our own routes (those with our protocol number), or everyone's in the main table."""
        names = {link.index: link.name for link in self.links()}
        found = [messages.parse_route(body) for body in self._socket.ask(messages.all_routes(), dump=True)]
        wanted = [
            r for r in found if r.in_main_table and (everyones or r.protocol == messages.ROUTE_PROTOCOL)
        ]
        return [_route(route, names) for route in wanted]

    def put_route(self, route: Route) -> None:
        """Add the route, or change where its destination leads."""
        self._order(messages.put_route(*self._way(route)), f"route to {route.destination}")

    def delete_route(self, route: Route) -> None:
        request = messages.delete_route(*self._way(route))
        self._order(request, f"delete route to {route.destination}", errno.ESRCH, errno.ENODEV)

    def _way(self, route: Route) -> tuple[bytes, int, bytes, int]:
        gateway = IPv4Address(route.gateway).packed if route.gateway else b""
        device = self._index(route.device) if route.device else 0
        return route.destination.network_address.packed, route.destination.prefixlen, gateway, device

    def _index(self, name: str) -> int:
        link = self.link(name)
        if link is None:
            raise NetlinkError(errno.ENODEV, f"no device {name}")
        return link.index

    def _order(self, request: Request, what: str, *expected: int) -> None:
        """The errors it is `expected` to give count as nothing done."""
        for code in self._socket.order([request]).values():
            if code not in expected:
                raise NetlinkError(code, what)


def _socket() -> netlink_orders.Socket:
    return netlink_orders.Socket(netlink_orders.ROUTE)


@contextmanager
def opened() -> Iterator[KernelNetlink]:
    """A netlink socket for one batch of work in the caller's namespace."""
    netlink = KernelNetlink()
    try:
        yield netlink
    finally:
        netlink.close()


def inside(namespace: Path, work: Callable[[Netlink], T]) -> T:
    """One batch of work in another namespace, by a thread that is there, so that it may write sysctls too."""

    def entered() -> T:
        with opened() as netlink:
            return work(netlink)

    return namespaces.run_inside(namespace, entered)


def _link(body: bytes) -> Link:
    found = messages.parse_link(body)
    return Link(found.index, found.name, found.kind, found.up, found.master)


def _route(found: messages.RouteSeen, names: dict[int, str]) -> Route:
    network = IPv4Network((found.destination, found.prefix)) if found.destination else _DEFAULT
    gateway = str(IPv4Address(found.gateway)) if found.gateway else ""
    # A gateway implies its device; naming both would make equal routes look different.
    device = "" if gateway else names.get(found.device, "")
    return Route(network, gateway, device)
