"""A dummy device: it carries no packets, but the node answers for every address it holds.

The kernel's device and one in memory behind one interface. Which addresses it should hold is for others.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterable
from typing import Protocol

from fairway.kernel import netlink_orders
from fairway.kernel.errors import KernelError
from fairway.kernel.netlink_orders import Request, RequestRefused
from fairway.kernel.nfnetlink import attribute, attributes, nested, text

_NEW_LINK, _DELETE_LINK, _GET_LINK = 16, 17, 18
_NEW_ADDRESS, _DELETE_ADDRESS, _GET_ADDRESS = 20, 21, 22
_CREATE, _EXCLUSIVE = 0x400, 0x200
_LINK_NAME, _LINK_INFO, _INFO_KIND = 3, 18, 1
_ADDRESS, _LOCAL = 1, 2
_NO_DUPLICATE_DETECTION = 0x02
# struct ifinfomsg: family, type, index, flags, change; struct ifaddrmsg: family, length, flags, scope, index
_LINK = struct.Struct("=BxHiII")
_ADDR = struct.Struct("=BBBBI")


class DummyDeviceError(KernelError):
    """The kernel refused a change."""


class DummyDevice(Protocol):
    name: str

    def create(self) -> None:
        """Creating what exists is fine."""

    def addresses(self) -> frozenset[str]:
        """Those it holds; none if there is no such device. Link-local ones are the kernel's own business."""

    def change(self, deleted: Iterable[str], added: Iterable[str]) -> None: ...

    def remove(self) -> None:
        """With all its addresses, if it is there."""

    def exists(self) -> bool: ...

    def close(self) -> None: ...


class KernelDummyDevice:
    def __init__(self, name: str) -> None:
        self.name = name
        self._socket = netlink_orders.Socket(netlink_orders.ROUTE)

    def create(self) -> None:
        body = _LINK.pack(0, 0, 0, 0, 0) + text(_LINK_NAME, self.name)
        body += nested(_LINK_INFO, text(_INFO_KIND, "dummy"))
        try:
            self._socket.demand(Request(_NEW_LINK, body, _CREATE | _EXCLUSIVE))
        except RequestRefused as error:
            if error.errno == errno.EOPNOTSUPP:
                raise DummyDeviceError(
                    "this kernel has no dummy devices: load the module with `modprobe dummy`"
                ) from error
            if error.errno != errno.EEXIST:
                raise DummyDeviceError(f"create {self.name}: {error.strerror}") from error

    def exists(self) -> bool:
        return self._index() != 0

    def addresses(self) -> frozenset[str]:
        index = self._index()
        if not index:
            return frozenset()
        found = set()
        for answer in self._socket.ask(Request(_GET_ADDRESS, _ADDR.pack(0, 0, 0, 0, 0)), dump=True):
            family, _, _, _, at = _ADDR.unpack_from(answer)
            parts = dict(attributes(answer[_ADDR.size :]))
            packed = parts.get(_LOCAL, parts.get(_ADDRESS))
            if at == index and packed is not None:
                found.add(socket.inet_ntop(family, packed))
        return frozenset(address for address in found if not address.startswith("fe80:"))

    def change(self, deleted: Iterable[str], added: Iterable[str]) -> None:
        index = self._index()
        gone, new = list(deleted), list(added)
        requests = [_address_request(_DELETE_ADDRESS, 0, index, address) for address in gone]
        requests += [_address_request(_NEW_ADDRESS, _CREATE, index, address) for address in new]
        for position, code in self._socket.order(requests).items():
            if code not in (errno.EEXIST, errno.EADDRNOTAVAIL):
                address = [*gone, *new][position]
                raise DummyDeviceError(f"change {address} of {self.name}: {os.strerror(code)}")

    def remove(self) -> None:
        index = self._index()
        if index:
            self._socket.demand(Request(_DELETE_LINK, _LINK.pack(0, 0, index, 0, 0)))

    def close(self) -> None:
        self._socket.close()

    def _index(self) -> int:
        body = _LINK.pack(0, 0, 0, 0, 0) + text(_LINK_NAME, self.name)
        try:
            return int(_LINK.unpack_from(self._socket.ask(Request(_GET_LINK, body))[0])[2])
        except RequestRefused as error:
            if error.errno != errno.ENODEV:
                raise
            return 0


class FakeDummyDevice:
    def __init__(self, name: str) -> None:
        self.name = name
        self.held: set[str] | None = None

    def create(self) -> None:
        self.held = self.held or set()

    def exists(self) -> bool:
        return self.held is not None

    def addresses(self) -> frozenset[str]:
        return frozenset(self.held or ())

    def change(self, deleted: Iterable[str], added: Iterable[str]) -> None:
        if self.held is None:
            raise DummyDeviceError(f"change {self.name}: there is no such device")
        self.held = (self.held - set(deleted)) | set(added)

    def remove(self) -> None:
        self.held = None

    def close(self) -> None:
        return None


def _address_request(kind: int, flags: int, index: int, address: str) -> Request:
    six = ":" in address
    family, length = (socket.AF_INET6, 128) if six else (socket.AF_INET, 32)
    packed = socket.inet_pton(family, address)
    header = _ADDR.pack(family, length, _NO_DUPLICATE_DETECTION if six else 0, 0, index)
    return Request(kind, header + attribute(_LOCAL, packed) + attribute(_ADDRESS, packed), flags)
