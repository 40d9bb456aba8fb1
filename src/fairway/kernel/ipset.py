"""ipset: the sets of this network namespace, which packet filter rules refer to by name.

Entries are values that look alike for every type of set; what they are for is for others to decide. Talks to
the kernel directly, so a change costs no process. The fake is in `fake_ipset`.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from fairway.kernel import netlink_orders
from fairway.kernel.errors import KernelError
from fairway.kernel.netlink_orders import Request, RequestRefused
from fairway.kernel.nfnetlink import attribute, attributes, nested, text

_SUBSYSTEM = 6 << 8
_CREATE, _DESTROY, _LIST, _ADD, _DELETE, _TYPE = (_SUBSYSTEM | number for number in (2, 3, 7, 9, 10, 13))
_PROTOCOL, _SET_NAME, _TYPE_NAME, _REVISION, _FAMILY, _FLAGS, _DATA, _ENTRIES = range(1, 9)
_IP, _CIDR, _PORT, _PORT_TO, _PROTO, _CADT_FLAGS = 1, 3, 4, 5, 7, 8
_LINE, _MAX_ELEMENTS, _IP2, _CIDR2, _ELEMENTS, _MARK = 9, 19, 20, 21, 24, 27
_HEADERS_ONLY, _WITH_MARKS = 1 << 2, 1 << 6
_GENERAL = struct.Struct("=BBH")
_PROTOCOL_VERSION = attribute(_PROTOCOL, b"\x06")
_BIG_ENDIAN = 0x4000
_MARK_MASK = 0xFFFFFFFF
# As many as fit into one message that is well below the kernel's limit of 64 KB.
_PER_MESSAGE = 400
LARGEST_SET = 1 << 18

_NUMBERS = {"tcp": socket.IPPROTO_TCP, "udp": socket.IPPROTO_UDP, "sctp": socket.IPPROTO_SCTP}
_NAMES = {int(number): name for name, number in _NUMBERS.items()}
_VERSIONS = {4: socket.AF_INET, 6: socket.AF_INET6}


class IpsetError(KernelError):
    """The kernel refused a change."""


class Kind(NamedTuple):
    """What a set holds: `hash:ip,port` of IP version 4. A set of ports has no version (0)."""

    type: str
    version: int = 0
    marks: bool = False
    """Whether each entry carries a mark that a rule may put on packets."""


class Entry(NamedTuple):
    """Only the fields that the type of its set names are filled in."""

    address: str = ""
    protocol: str = ""
    port: int = 0
    other: str = ""
    """The second address, or a range such as 10.0.0.0/8."""
    mark: int = 0


class Ipset(Protocol):
    """What the rest of Fairway may ask of ipset."""

    def sizes(self) -> dict[str, tuple[Kind, int]]:
        """All sets there are, with how many entries each has."""

    def entries(self, name: str) -> set[Entry]: ...

    def create(self, name: str, kind: Kind) -> None:
        """Creating what exists and is the same is fine."""

    def destroy(self, name: str) -> None:
        """Fails while a rule refers to it. Destroying what doesn't exist is fine."""

    def change(self, name: str, deleted: Iterable[Entry], added: Iterable[Entry]) -> None:
        """Deleting what isn't there and adding what is are fine."""

    def close(self) -> None: ...


class KernelIpset:
    def __init__(self) -> None:
        self._socket = netlink_orders.Socket(netlink_orders.NETFILTER)
        self._revisions: dict[Kind, int] = {}

    def sizes(self) -> dict[str, tuple[Kind, int]]:
        flags = attribute(_FLAGS | _BIG_ENDIAN, struct.pack(">I", _HEADERS_ONLY))
        try:
            answers = self._socket.ask(_request(_LIST, flags), dump=True)
        except RequestRefused as error:
            # Without the module nobody answers for ipset: then there are no sets.
            if error.errno in (errno.EINVAL, errno.ENOENT, errno.EOPNOTSUPP):
                return {}
            raise
        return dict(_header(answer) for answer in answers)

    def entries(self, name: str) -> set[Entry]:
        answers = self._socket.ask(_request(_LIST, text(_SET_NAME, name)), dump=True)
        return {entry for answer in answers for entry in _entries(answer)}

    def create(self, name: str, kind: Kind) -> None:
        family = int(_VERSIONS[kind.version]) if kind.version else 0
        data = _creation(kind)
        body = (
            text(_SET_NAME, name),
            text(_TYPE_NAME, kind.type),
            attribute(_REVISION, bytes([self._revision(kind, family)])),
            attribute(_FAMILY, bytes([family])),
            nested(_DATA, *data),
        )
        self._demand(_request(_CREATE, *body), f"create set {name} of type {kind.type}")

    def destroy(self, name: str) -> None:
        self._demand(_request(_DESTROY, text(_SET_NAME, name)), f"destroy set {name}", errno.ENOENT)

    def change(self, name: str, deleted: Iterable[Entry], added: Iterable[Entry]) -> None:
        for verb, entries in ((_DELETE, list(deleted)), (_ADD, list(added))):
            for start in range(0, len(entries), _PER_MESSAGE):
                chunk = entries[start : start + _PER_MESSAGE]
                body = (text(_SET_NAME, name), attribute(_LINE, struct.pack("=I", 0)))
                data = nested(_ENTRIES, *(nested(_DATA, *encode(entry)) for entry in chunk))
                self._demand(_request(verb, *body, data), f"change set {name}")

    def close(self) -> None:
        self._socket.close()

    def _demand(self, request: Request, what: str, *expected: int) -> None:
        try:
            self._socket.demand(request)
        except RequestRefused as error:
            if error.errno not in expected:
                raise IpsetError(f"{what}: {_reason(error.errno or 0)}") from error

    def _revision(self, kind: Kind, family: int) -> int:
        """The newest that this kernel has; asking makes it load the module."""
        if kind not in self._revisions:
            body = (text(_TYPE_NAME, kind.type), attribute(_FAMILY, bytes([family or socket.AF_INET])))
            try:
                answer = self._socket.ask(_request(_TYPE, *body))[0]
            except RequestRefused as error:
                module = f"ip_set_{kind.type.replace(':', '_').replace(',', '')}"
                raise IpsetError(
                    f"this kernel has no ipset of type {kind.type}: load its module with `modprobe {module}`"
                ) from error
            self._revisions[kind] = dict(attributes(answer[_GENERAL.size :]))[_REVISION][0]
        return self._revisions[kind]


def _reason(code: int) -> str:
    # ipset has numbers of its own from here on.
    return f"ipset error {code}" if code >= 4096 else os.strerror(code)


def _request(kind: int, *parts: bytes) -> Request:
    return Request(kind, _GENERAL.pack(socket.AF_INET, 0, 0) + _PROTOCOL_VERSION + b"".join(parts))


def _creation(kind: Kind) -> Iterable[bytes]:
    flags = attribute(_CADT_FLAGS | _BIG_ENDIAN, struct.pack(">I", _WITH_MARKS))
    if kind.type == "bitmap:port":
        yield attribute(_PORT | _BIG_ENDIAN, struct.pack(">H", 0))
        yield attribute(_PORT_TO | _BIG_ENDIAN, struct.pack(">H", 65535))
    else:
        yield attribute(_MAX_ELEMENTS | _BIG_ENDIAN, struct.pack(">I", LARGEST_SET))
    if kind.marks:
        yield flags


def encode(entry: Entry) -> Iterable[bytes]:
    if entry.address:
        yield _address(_IP, entry.address)
    if entry.port:
        yield attribute(_PORT | _BIG_ENDIAN, struct.pack(">H", entry.port))
    if entry.protocol and entry.address:
        yield attribute(_PROTO, bytes([_NUMBERS[entry.protocol]]))
    if entry.other:
        address, _, prefix = entry.other.partition("/")
        yield _address(_IP2, address)
        if prefix:
            yield attribute(_CIDR2, bytes([int(prefix)]))
    if entry.mark:
        yield attribute(_MARK | _BIG_ENDIAN, struct.pack(">II", entry.mark, _MARK_MASK))


def _address(kind: int, address: str) -> bytes:
    six = ":" in address
    packed = socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, address)
    return nested(kind, attribute((2 if six else 1) | _BIG_ENDIAN, packed))


def _header(answer: bytes) -> tuple[str, tuple[Kind, int]]:
    found = dict(attributes(answer[_GENERAL.size :]))
    data = dict(attributes(found.get(_DATA, b"")))
    version = 0 if _text(found[_TYPE_NAME]).startswith("bitmap:") else _version(found[_FAMILY][0])
    marks = bool(int.from_bytes(data.get(_CADT_FLAGS, b""), "big") & _WITH_MARKS)
    count = int.from_bytes(data.get(_ELEMENTS, b""), "big")
    return _text(found[_SET_NAME]), (Kind(_text(found[_TYPE_NAME]), version, marks), count)


def _entries(answer: bytes) -> Iterable[Entry]:
    found = dict(attributes(answer[_GENERAL.size :]))
    for _, data in attributes(found.get(_ENTRIES, b"")):
        yield _decode(dict(attributes(data)))


def _decode(parts: dict[int, bytes]) -> Entry:
    other = _read_address(parts.get(_IP2, b""))
    if _CIDR2 in parts:
        other += f"/{parts[_CIDR2][0]}"
    return Entry(
        _read_address(parts.get(_IP, b"")),
        _NAMES.get(parts.get(_PROTO, b"\0")[0], ""),
        int.from_bytes(parts.get(_PORT, b""), "big"),
        other,
        int.from_bytes(parts.get(_MARK, b"")[:4], "big"),
    )


def _read_address(data: bytes) -> str:
    for kind, packed in attributes(data):
        return socket.inet_ntop(socket.AF_INET6 if kind == 2 else socket.AF_INET, packed)
    return ""


def _version(family: int) -> int:
    return 6 if family == socket.AF_INET6 else 4


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode()
