"""Addresses that this node answers to without any device having them, and marked packets that stay on it.

Both are routes of type `local`: for whole ranges, and in a routing table of our own for packets with a mark.
What they are for is others' to know. Everything here is idempotent.
"""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from fairway.kernel import namespaces, sysctl
from fairway.kernel.errors import KernelError

_NET = Path("/proc/thread-self/net")
# How our routes are told from others', and the number of our routing table.
_PROTOCOL = "97"
_TABLE = "9696"


class LocalDelivery(Protocol):
    def ensure(self) -> None: ...
    def is_there(self) -> bool: ...
    def remove(self) -> None: ...


class LocalDeliveryError(KernelError):
    """The kernel refused a route or a rule."""


class KernelLocalDelivery:
    """By the program `ip`, in the network namespace at a path."""

    def __init__(self, namespace: Path, ranges: tuple[str, ...], mark: int) -> None:
        self._namespace, self._ranges, self._mark = namespace, ranges, f"{mark:#x}/{mark:#x}"

    def ensure(self) -> None:
        for version, route in self._routes():
            self._ip(version, "route", "replace", *route)
        for version in self._versions():
            if not self._has_rule(version):
                self._ip(version, "rule", "add", *self._rule())

    def is_there(self) -> bool:
        """Looks at the kernel's own list of local routes, as this is asked often."""
        return namespaces.run_inside(self._namespace, self._has_ranges)

    def remove(self) -> None:
        for version in self._versions():
            while self._has_rule(version):
                self._ip(version, "rule", "del", *self._rule())
        for version, route in self._routes():
            self._ip(version, "route", "del", *route, check=False)

    def _has_ranges(self) -> bool:
        return all(_is_local(text) for text in self._ranges if ":" not in text or _speaks_ipv6())

    def _versions(self) -> tuple[str, ...]:
        return ("-4", "-6") if namespaces.run_inside(self._namespace, _speaks_ipv6) else ("-4",)

    def _routes(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        versions = self._versions()
        for text in self._ranges:
            version = "-6" if ":" in text else "-4"
            if version in versions:
                yield version, ("local", text, "dev", "lo", "proto", _PROTOCOL)
        for version in versions:
            yield version, ("local", "default", "dev", "lo", "proto", _PROTOCOL, "table", _TABLE)

    def _rule(self) -> tuple[str, ...]:
        return ("pref", _TABLE, "fwmark", self._mark, "lookup", _TABLE)

    def _has_rule(self, version: str) -> bool:
        return f"lookup {_TABLE}" in self._ip(version, "rule", "show", "pref", _TABLE)

    def _ip(self, *arguments: str, check: bool = True) -> str:
        def run() -> subprocess.CompletedProcess[str]:
            return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)

        done = namespaces.run_inside(self._namespace, run)
        if check and done.returncode:
            raise LocalDeliveryError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


class FakeLocalDelivery:
    def __init__(self) -> None:
        self.there = False

    def ensure(self) -> None:
        self.there = True

    def is_there(self) -> bool:
        return self.there

    def remove(self) -> None:
        self.there = False


def _speaks_ipv6() -> bool:
    """A kernel may be without, and an administrator may have turned it off."""
    try:
        return sysctl.read("net/ipv6/conf/lo/disable_ipv6") == "0"
    except OSError:
        return False


def _is_local(text: str) -> bool:
    network = ipaddress.ip_network(text)
    if isinstance(network, ipaddress.IPv4Network):
        lines = (_NET / "fib_trie").read_text().split("|-- ")
        return any(
            line.startswith(f"{network.network_address}\n") and f"/{network.prefixlen} host LOCAL" in line
            for line in lines
        )
    routes = (_NET / "ipv6_route").read_text()
    return f"{int(network.network_address):032x} {network.prefixlen:02x} " in routes
