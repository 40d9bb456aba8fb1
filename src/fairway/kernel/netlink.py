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
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any, Protocol, TypeVar

from fairway.kernel import namespaces
from fairway.kernel.errors import KernelError

# The number that marks routes as ours (`proto 96` in `ip route`), so that we only ever delete our own.
ROUTE_PROTOCOL = 96
_DEFAULT = IPv4Network("0.0.0.0/0")
_MAIN_TABLE = 254
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
    """The real thing: one netlink socket in the namespace it was opened in."""

    def __init__(self, namespace: Path | None = None) -> None:
        # pyroute2 takes 0.2 s and 20 MB to import: only those who touch the network pay for it.
        from pyroute2 import IPRoute

        # Named explicitly: pyroute2 opens a socket for each thread that uses it, wherever that thread is.
        self._socket: Any = IPRoute(netns=os.fspath(namespace)) if namespace else IPRoute()

    def close(self) -> None:
        self._socket.close()

    # -- links -----------------------------------------------------------------------------------------

    def links(self) -> list[Link]:
        return [_link(message) for message in self._socket.get_links()]

    def link(self, name: str) -> Link | None:
        found = _quietly(lambda: self._socket.link("get", ifname=name), errno.ENODEV, what=f"look up {name}")
        return _link(found[0]) if found else None

    def add_bridge(self, name: str) -> None:
        """With an address of its own: else it would take that of a port and change it with its ports,
        and whoever has the old one in its neighbour table would be cut off for a while.
        """
        address = ":".join(f"{byte:02x}" for byte in (0x02, 0xFA, *os.urandom(4)))
        _quietly(
            lambda: self._socket.link("add", ifname=name, kind="bridge", address=address),
            errno.EEXIST,
            what=f"add bridge {name}",
        )

    def add_veth(self, name: str, peer: str, peer_namespace: Path | None = None) -> None:
        """A pair of devices, the second one made directly in its own namespace."""
        other: dict[str, Any] = {"ifname": peer}
        if peer_namespace is None:
            self._add_veth(name, other)
            return
        with peer_namespace.open() as namespace:
            self._add_veth(name, other | {"net_ns_fd": namespace.fileno()})

    def _add_veth(self, name: str, peer: dict[str, Any]) -> None:
        _quietly(
            lambda: self._socket.link("add", ifname=name, kind="veth", peer=peer),
            errno.EEXIST,
            what=f"add veth {name}",
        )

    def delete_link(self, name: str) -> None:
        if link := self.link(name):
            _quietly(lambda: self._socket.link("del", index=link.index), errno.ENODEV, what=f"delete {name}")

    def set_up(self, name: str) -> None:
        index = self._index(name)
        _quietly(lambda: self._socket.link("set", index=index, state="up"), what=f"set {name} up")

    def attach(self, name: str, bridge: str, hairpin: bool = False) -> None:
        """Make a device a port of a bridge; `hairpin` lets frames leave by the port they came in."""
        index, master = self._index(name), self._index(bridge)
        _quietly(lambda: self._socket.link("set", index=index, master=master), what=f"attach {name}")
        if hairpin:
            _quietly(lambda: self._socket.brport("set", index=index, mode=1), what=f"hairpin {name}")

    # -- addresses and routes --------------------------------------------------------------------------

    def addresses(self, name: str) -> list[IPv4Interface]:
        index = self._index(name)
        messages = self._socket.get_addr(family=2, index=index)
        return [IPv4Interface((m.get_attr("IFA_LOCAL"), m["prefixlen"])) for m in messages]

    def add_address(self, name: str, address: IPv4Interface) -> None:
        index, prefix = self._index(name), address.network.prefixlen
        _quietly(
            lambda: self._socket.addr("add", index=index, address=str(address.ip), prefixlen=prefix),
            errno.EEXIST,
            what=f"add {address} to {name}",
        )

    def routes(self, everyones: bool = False) -> list[Route]:
        """Our own routes (those with our protocol number), or everyone's in the main table."""
        names = {link.index: link.name for link in self.links()}
        messages = self._socket.get_routes(family=2, table=_MAIN_TABLE)
        return [_route(m, names) for m in messages if everyones or m["proto"] == ROUTE_PROTOCOL]

    def put_route(self, route: Route) -> None:
        """Add the route, or change where its destination leads."""
        request = self._request(route)
        _quietly(lambda: self._socket.route("replace", **request), what=f"route to {route.destination}")

    def delete_route(self, route: Route) -> None:
        request = self._request(route)
        _quietly(
            lambda: self._socket.route("del", **request),
            errno.ESRCH,
            errno.ENODEV,
            what=f"delete route to {route.destination}",
        )

    def _request(self, route: Route) -> dict[str, Any]:
        request: dict[str, Any] = {"dst": str(route.destination), "proto": ROUTE_PROTOCOL}
        if route.gateway:
            request["gateway"] = route.gateway
        else:
            request["scope"] = 253  # link: reached without a gateway
        if route.device:
            request["oif"] = self._index(route.device)
        return request

    def _index(self, name: str) -> int:
        link = self.link(name)
        if link is None:
            raise NetlinkError(errno.ENODEV, f"no device {name}")
        return link.index


@contextmanager
def opened() -> Iterator[KernelNetlink]:
    """A netlink socket for one batch of work in the caller's namespace. Stay in one thread."""
    netlink = KernelNetlink()
    try:
        yield netlink
    finally:
        netlink.close()


def inside(namespace: Path, work: Callable[[Netlink], T]) -> T:
    """One batch of work in another namespace; ten times as fast as a `KernelNetlink` opened there."""

    def entered() -> T:
        with opened() as netlink:
            return work(netlink)

    return namespaces.run_inside(namespace, entered)


def _quietly(call: Callable[[], Any], *expected: int, what: str) -> Any:
    """Make a call; the errors it is `expected` to give count as nothing done, others become ours."""
    from pyroute2.netlink.exceptions import NetlinkError as Refused

    try:
        return call()
    except Refused as error:
        if error.code in expected:
            return None
        raise NetlinkError(error.code, what) from error


def _link(message: Any) -> Link:
    info = message.get_attr("IFLA_LINKINFO")
    return Link(
        message["index"],
        message.get_attr("IFLA_IFNAME"),
        (info.get_attr("IFLA_INFO_KIND") if info else "") or "",
        bool(message["flags"] & 1),
        message.get_attr("IFLA_MASTER") or 0,
    )


def _route(message: Any, names: dict[int, str]) -> Route:
    destination = message.get_attr("RTA_DST")
    network = IPv4Network(f"{destination}/{message['dst_len']}") if destination else _DEFAULT
    gateway = message.get_attr("RTA_GATEWAY") or ""
    # A gateway implies its device; naming both would make equal routes look different.
    device = "" if gateway else names.get(message.get_attr("RTA_OIF"), "")
    return Route(network, gateway, device)
