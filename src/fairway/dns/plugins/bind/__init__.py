"""`bind`: the addresses (or interfaces, by name) that a server block listens on."""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

from fairway.dns.corefile import Directive
from fairway.dns.plugin import Plugin, Setup

_SIOCGIFADDR = 0x8915
_IF_INET6 = Path("/proc/net/if_inet6")


class Bind(Plugin):
    name = "bind"
    repeats = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        excluded = {arg for line in directives for inner in line.body for arg in _except(inner)}
        found: dict[str, None] = {}
        for line in directives:
            if not line.args:
                raise line.error("plugin/bind: at least one address or interface name is expected")
            for arg in line.args:
                found |= dict.fromkeys(_addresses(line, arg))
        self.addresses = tuple(address for address in found if address not in excluded)


def _except(line: Directive) -> tuple[str, ...]:
    if line.name != "except":
        raise line.unknown_property("bind")
    return line.args


def _addresses(line: Directive, text: str) -> list[str]:
    try:
        return [str(ipaddress.ip_address(text))]
    except ValueError:
        pass
    if text not in (name for _, name in socket.if_nameindex()):
        raise line.error(f"plugin/bind: not a valid IP address or interface name: '{text}'")
    return interface_addresses(text)


def interface_addresses(interface: str) -> list[str]:
    """The first IPv4 address of an interface and all its IPv6 ones."""
    found = []
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        answer = fcntl.ioctl(sock.fileno(), _SIOCGIFADDR, struct.pack("256s", interface[:15].encode()))
        found.append(socket.inet_ntop(socket.AF_INET, answer[20:24]))
    with contextlib.suppress(OSError):
        rows = [line.split() for line in _IF_INET6.read_text().splitlines()]
        found += [str(ipaddress.IPv6Address(int(row[0], 16))) for row in rows if row[5] == interface]
    return found


PLUGIN = Bind
