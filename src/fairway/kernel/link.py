"""Frames on a network interface: ARP and IPv6 neighbour discovery as they are on the wire.

Only whole frames go through here; what they say belongs to those who send them. The socket stays in the
network namespace it was opened in. `FakeLink` is a link in memory that keeps what was sent.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import ipaddress
import socket
import struct
from collections import deque
from pathlib import Path
from typing import Protocol

_ETH_P_ARP, _ETH_P_IPV6 = 0x0806, 0x86DD
_SIOCGIFFLAGS, _SIOCGIFADDR, _SIOCGIFHWADDR = 0x8913, 0x8915, 0x8927
_UP_AND_RUNNING = 0x1 | 0x40
_SO_ATTACH_FILTER = 26
_OUTGOING = 4
# Classic BPF: next header 58 (ICMPv6), then type 135 or 136; all other IPv6 traffic stays in the kernel.
_NEIGHBOUR_DISCOVERY = (
    (0x30, 0, 0, 20),
    (0x15, 0, 4, 58),
    (0x30, 0, 0, 54),
    (0x15, 1, 0, 135),
    (0x15, 0, 1, 136),
    (0x06, 0, 0, 0xFFFF),
    (0x06, 0, 0, 0),
)


class Link(Protocol):
    """One interface, as far as answering for addresses on it goes."""

    @property
    def mac(self) -> bytes: ...

    def filenos(self) -> tuple[int, ...]:
        """What to wait on for `receive`."""

    def receive(self) -> list[bytes]:
        """The frames that have come in since, without those that we sent."""

    def send(self, frame: bytes) -> None: ...

    def is_up(self) -> bool: ...

    def join(self, group: str) -> None:
        """Receive what is sent to an IPv6 multicast group, also through switches that filter."""

    def close(self) -> None: ...


class PacketLink:
    """The real thing. Needs CAP_NET_RAW."""

    def __init__(self, interface: str) -> None:
        self._name = interface
        self._index = socket.if_nametoindex(interface)
        self._arp = _packet_socket(interface, _ETH_P_ARP)
        self._ipv6 = _packet_socket(interface, _ETH_P_IPV6)
        self._members: socket.socket | None = None
        self._mac = self._ioctl(_SIOCGIFHWADDR)[18:24]

    @property
    def mac(self) -> bytes:
        return self._mac

    def filenos(self) -> tuple[int, ...]:
        return self._arp.fileno(), self._ipv6.fileno()

    def receive(self) -> list[bytes]:
        return [*_frames(self._arp), *_frames(self._ipv6)]

    def send(self, frame: bytes) -> None:
        """A link that is down loses frames, as a cable does."""
        try:
            self._arp.send(frame)
        except OSError:
            return

    def is_up(self) -> bool:
        try:
            (flags,) = struct.unpack_from("H", self._ioctl(_SIOCGIFFLAGS), 16)
        except OSError:
            return False
        return bool(flags & _UP_AND_RUNNING == _UP_AND_RUNNING)

    def join(self, group: str) -> None:
        if self._members is None:
            self._members = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        membership = ipaddress.IPv6Address(group).packed + struct.pack("@I", self._index)
        try:
            self._members.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, membership)
        except OSError:
            return  # a member already, or IPv6 is off here

    def close(self) -> None:
        for opened in (self._arp, self._ipv6, self._members):
            if opened is not None:
                opened.close()

    def _ioctl(self, request: int) -> bytes:
        name = self._name.encode().ljust(16, b"\0")
        return fcntl.ioctl(self._arp.fileno(), request, name + bytes(24))


def interface_addresses(interface: str) -> tuple[str, ...]:
    """Its first IPv4 address and its first global IPv6 address, as far as it has them."""
    found: list[str] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking, contextlib.suppress(OSError):
        answer = fcntl.ioctl(asking.fileno(), _SIOCGIFADDR, interface.encode().ljust(16, b"\0") + bytes(24))
        found.append(socket.inet_ntoa(answer[20:24]))
    with contextlib.suppress(FileNotFoundError):
        lines = [line.split() for line in Path("/proc/thread-self/net/if_inet6").read_text().splitlines()]
        six = [words[0] for words in lines if words[5] == interface and words[3] == "00"]
        found += [str(ipaddress.IPv6Address(int(text, 16))) for text in six[:1]]
    return tuple(found)


def _packet_socket(interface: str, protocol: int) -> socket.socket:
    # Bound only after the filter is there: before, a socket of protocol 0 receives nothing.
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    if protocol == _ETH_P_IPV6:
        _attach(opened, _NEIGHBOUR_DISCOVERY)
    opened.bind((interface, protocol))
    return opened


def _attach(opened: socket.socket, program: tuple[tuple[int, int, int, int], ...]) -> None:
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code)
    opened.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", len(program), ctypes.addressof(buffer))
    )


def _frames(opened: socket.socket) -> list[bytes]:
    found: list[bytes] = []
    while True:
        try:
            frame, origin = opened.recvfrom(2048)
        except (BlockingIOError, OSError):
            return found
        if origin[2] != _OUTGOING:
            found.append(frame)


class FakeLink:
    """`arrive` puts frames on it; `sent` keeps what would have gone out."""

    def __init__(self, mac: bytes = b"\x02\0\0\0\0\x01") -> None:
        self._mac = mac
        self._waiting: deque[bytes] = deque()
        self.sent: list[bytes] = []
        self.groups: set[str] = set()
        self.up = True

    @property
    def mac(self) -> bytes:
        return self._mac

    def filenos(self) -> tuple[int, ...]:
        return ()

    def arrive(self, frame: bytes) -> None:
        self._waiting.append(frame)

    def receive(self) -> list[bytes]:
        found = list(self._waiting)
        self._waiting.clear()
        return found

    def send(self, frame: bytes) -> None:
        self.sent.append(frame)

    def is_up(self) -> bool:
        return self.up

    def join(self, group: str) -> None:
        self.groups.add(group)

    def close(self) -> None:
        pass
