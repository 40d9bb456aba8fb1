"""A `Netlink` without a kernel: remembers links, addresses and routes, and refuses what the kernel would."""

from __future__ import annotations

import errno
from dataclasses import replace
from ipaddress import IPv4Interface
from itertools import count
from pathlib import Path

from fairway.kernel.netlink import Link, NetlinkError, Route


class FakeNetlink:
    def __init__(self) -> None:
        self._numbers = count(2)
        self._links: dict[str, Link] = {"lo": Link(1, "lo")}
        self._addresses: dict[str, list[IPv4Interface]] = {}
        self._routes: dict[str, Route] = {}
        self.peers: dict[str, str] = {}
        self.hairpins: set[str] = set()
        self.changes = 0

    def close(self) -> None:
        pass

    def links(self) -> list[Link]:
        return list(self._links.values())

    def link(self, name: str) -> Link | None:
        return self._links.get(name)

    def add_bridge(self, name: str) -> None:
        self._add(name, "bridge")

    def add_veth(self, name: str, peer: str, peer_namespace: Path | None = None) -> None:
        self._add(name, "veth")
        if peer_namespace is None:
            self._add(peer, "veth")
            self.peers |= {name: peer, peer: name}

    def delete_link(self, name: str) -> None:
        for gone in (name, self.peers.pop(name, "")):
            self._links.pop(gone, None)
            self._addresses.pop(gone, None)
            self._routes = {key: route for key, route in self._routes.items() if route.device != gone}

    def set_up(self, name: str) -> None:
        self._links[name] = replace(self._existing(name), up=True)

    def attach(self, name: str, bridge: str, hairpin: bool = False) -> None:
        master = self._existing(bridge)
        self._links[name] = replace(self._existing(name), master=master.index)
        if hairpin:
            self.hairpins.add(name)

    def addresses(self, name: str) -> list[IPv4Interface]:
        self._existing(name)
        return list(self._addresses.get(name, ()))

    def add_address(self, name: str, address: IPv4Interface) -> None:
        self._existing(name)
        known = self._addresses.setdefault(name, [])
        if address not in known:
            known.append(address)

    def routes(self, everyones: bool = False) -> list[Route]:
        return list(self._routes.values())

    def put_route(self, route: Route) -> None:
        if route.device:
            self._existing(route.device)
        self._routes[str(route.destination)] = route
        self.changes += 1

    def delete_route(self, route: Route) -> None:
        self._routes.pop(str(route.destination), None)
        self.changes += 1

    def _add(self, name: str, kind: str) -> None:
        if len(name) > 15:
            raise NetlinkError(errno.ERANGE, f"add {name}")
        self._links.setdefault(name, Link(next(self._numbers), name, kind))

    def _existing(self, name: str) -> Link:
        if name not in self._links:
            raise NetlinkError(errno.ENODEV, f"no device {name}")
        return self._links[name]
