"""The zone as prebuilt messages, for the questions that come a hundred thousand times a second.

`answers` maps the bytes of a question for addresses to the message without its id, and is kept up to date as
Services change: to answer is one look-up. `answer` serves what differs (letter case, EDNS, flags, other
types, NODATA, NXDOMAIN) straight from nodes, and hands the rest back to the plugin chain. Pure: bytes in,
bytes out.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import msgspec

from fairway.dns import names, wire
from fairway.dns.wire import Query
from fairway.dns.zone.model import EXISTS, Names, Node
from fairway.dns.zone.reply import resolve, soa
from fairway.dns.zone.zone import Zone

PLAIN = b"\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
"""What lies between id and question in the query of a plain stub resolver: RD, one question, nothing else."""

_VARIANTS = 8
_MOST_MEMOS = 16384
_TYPE_A, _TYPE_AAAA = b"\0\x01\0\x01", b"\0\x1c\0\x01"
_SHORTEST = 17
"""Octets of a question for the root."""
_OWNER = b"\xc0\x0c"
_ONE_QUESTION = b"\x00\x01\x00\x00\x00\x00\x00"
_CHAINED = frozenset((wire.TXT, wire.NS, wire.SOA, wire.CNAME, wire.DS, wire.ANY, wire.AXFR, wire.IXFR))
"""Types that the chain answers: plugins have ideas of their own about them, and nobody asks them often."""


class Shuffled:
    """An answer with several addresses: prebuilt in a few random orders, each sent from a random start."""

    __slots__ = ("head", "orders", "size", "width")

    def __init__(self, head: bytes, records: list[bytes]) -> None:
        self.head = head
        self.width = len(records[0])
        self.size = len(records)
        self.orders = tuple(
            b"".join(random.sample(records, self.size)) for _ in range(min(_VARIANTS, self.size - 1))
        )

    def pick(self) -> bytes:
        body = self.orders[int(random.random() * len(self.orders))]
        cut = int(random.random() * self.size) * self.width
        return self.head + body[cut:] + body[:cut]


Prebuilt = bytes | Shuffled


class Compiled:
    """The messages of one zone. `passes_on` says whether a name that does not exist is another plugin's
    affair."""

    def __init__(self, zone: Zone, shuffle: bool, passes_on: Callable[[bytes], bool]) -> None:
        self.zone = zone
        self.shuffle = shuffle
        self.passes_on = passes_on
        self.answers: dict[bytes, Prebuilt] = {}
        self._memo: dict[bytes, bytes] = {}
        self._repeatable = True
        self._soas: dict[tuple[bytes, int], bytes] = {}
        self._soa_serial = 0
        self._prefix_a = _OWNER + _TYPE_A + struct.pack("!IH", zone.settings.ttl, 4)
        self._prefix_aaaa = _OWNER + _TYPE_AAAA + struct.pack("!IH", zone.settings.ttl, 16)
        zone.on_publish = self.replace
        zone.on_change = self._memo.clear

    def replace(self, old: Names, new: Names) -> None:
        """Takes over what a Service's names became."""
        self._memo.clear()
        origin = self.zone.settings.primary
        for relative, node in old.nodes.items():
            if new.nodes.get(relative) != node:
                for kind in (_TYPE_A, _TYPE_AAAA):
                    self.answers.pop(relative + origin + kind, None)
        for relative, node in new.nodes.items():
            # Endpoints called after their addresses are many, and hardly ever asked for by name.
            if old.nodes.get(relative) != node and (relative == new.base or not relative[1:2].isdigit()):
                self._compile(relative + origin, node)

    def _compile(self, name: bytes, node: Node) -> None:
        if node.a:
            self._addresses(name + _TYPE_A, [self._prefix_a + address for address in node.a])
        if node.aaaa:
            self._addresses(name + _TYPE_AAAA, [self._prefix_aaaa + address for address in node.aaaa])

    def _addresses(self, question: bytes, records: list[bytes]) -> None:
        head = b"\x85\x00" + struct.pack("!HHHH", 1, len(records), 0, 0) + question
        body = b"".join(records)
        if 2 + len(head) + len(body) > wire.PLAIN_UDP:
            self.answers.pop(question, None)
        elif self.shuffle and len(records) > 1:
            self.answers[question] = Shuffled(head, records)
        else:
            self.answers[question] = head + body

    # ---- answering -------------------------------------------------------------------------------------

    def answer_datagram(self, data: bytes) -> bytes | None:
        """As `answer`, for UDP. What was asked in just the same words is remembered until anything
        changes."""
        key = data[2:]
        again = self._memo.get(key)
        if again is not None:
            return data[:2] + again
        self._repeatable = True
        message = self.answer(data, wire.PLAIN_UDP)
        if message is not None and self._repeatable:
            if len(self._memo) >= _MOST_MEMOS:
                self._memo.clear()
            self._memo[key] = message[2:]
        return message

    def answer(self, data: bytes, limit: int) -> bytes | None:
        """The message that answers a query of at most `limit` octets without EDNS; None: not for us to
        say."""
        if len(data) < _SHORTEST or data[4:11] != _ONE_QUESTION or data[2] & 0xF8 or data[11] > 1:
            return None
        end = _end_of_name(data)
        if not end or data[end + 2 : end + 4] != b"\0\x01":
            return None
        opt = b""
        if data[11] or len(data) != end + 4:
            opt = data[end + 4 :]
            if len(opt) != 11 or opt[:3] != b"\0\0\x29" or opt[6] or opt[9:] != b"\0\0":
                return None
            opt = opt[:5] + b"\0\0" + bytes((opt[7] & 0x80,)) + b"\0\0\0"
            limit = max(limit, int.from_bytes(opt[3:5], "big"))
        message = self._message(data, end, limit - len(opt))
        if message is None or not opt:
            return message
        return message[:11] + bytes((message[11] + 1,)) + message[12:] + opt

    def _message(self, data: bytes, end: int, limit: int) -> bytes | None:
        name = data[12:end].lower()
        kind = data[end : end + 4]
        flags = bytes((0x84 | data[2] & 1, data[3] & 0x10))
        hit = self.answers.get(name + kind)
        if hit is not None:
            body = hit if isinstance(hit, bytes) else self._picked(hit)
            if len(body) + 2 <= limit:
                return data[:2] + flags + body[2:10] + data[12 : end + 4] + body[end + 2 :]
        return self._from_node(data, name, end, flags, limit)

    def _picked(self, hit: Shuffled) -> bytes:
        self._repeatable = False
        return hit.pick()

    def _from_node(self, data: bytes, name: bytes, end: int, flags: bytes, limit: int) -> bytes | None:
        zone = self.zone
        origin = zone.zone_of(name)
        rdtype = data[end] << 8 | data[end + 1]
        if origin is None or rdtype in _CHAINED:
            return None
        node = zone.find(name, origin)
        if node is None:
            if self.passes_on(name):
                return None
            return self._negative(data, end, origin, bytes((flags[0], flags[1] | wire.NXDOMAIN)))
        if node.cname or (node is EXISTS and self.passes_on(name)):
            return None
        if not _has(node, rdtype):
            return self._negative(data, end, origin, flags)
        return self._written(data, end, rdtype, limit)

    def _written(self, data: bytes, end: int, rdtype: int, limit: int) -> bytes | None:
        """Records that are not prebuilt: of Pods, of further zones, too many for a plain datagram, PTR."""
        query = Query(data[0] << 8 | data[1], data[12:end], rdtype, flags=data[2] << 8 | data[3])
        resolution = resolve(self.zone, query.name, rdtype)
        if resolution is None:
            return None
        reply = resolution.reply
        if self.shuffle and len(reply.answer) > 1 and rdtype in (wire.A, wire.AAAA):
            self._repeatable = False
            mixed = tuple(random.sample(reply.answer, len(reply.answer)))
            reply = msgspec.structs.replace(reply, answer=mixed)
        return wire.write_reply(query, reply, limit)

    def _negative(self, data: bytes, end: int, origin: bytes, flags: bytes) -> bytes:
        counts = b"\0\x01\0\0\0\x01\0\0"
        return data[:2] + flags + counts + data[12 : end + 4] + self._soa(origin, end - len(origin))

    def _soa(self, origin: bytes, offset: int) -> bytes:
        """The SOA record of a zone whose name stands at this offset of the message, as pointers to there."""
        if self._soa_serial != self.zone.serial:
            self._soas.clear()
            self._soa_serial = self.zone.serial
        found = self._soas.get((origin, offset))
        if found is None:
            record = soa(self.zone, origin)
            pointer = struct.pack("!H", 0xC000 | offset)
            data = record.data.replace(origin, pointer, 2)
            found = pointer + struct.pack("!HHIH", wire.SOA, wire.IN, record.ttl, len(data)) + data
            self._soas[origin, offset] = found
        return found


def _has(node: Node, rdtype: int) -> bool:
    match rdtype:
        case wire.A:
            return bool(node.a)
        case wire.AAAA:
            return bool(node.aaaa)
        case wire.SRV:
            return bool(node.srv)
        case wire.PTR:
            return bool(node.ptr)
    return False


def _end_of_name(data: bytes) -> int:
    """Where type and class of the question begin; 0 unless there is one plain name and both are there."""
    at, last = 12, len(data) - 5
    while at <= last:
        size = data[at]
        if not size:
            return at + 1 if at < 12 + names.MAX_NAME else 0
        if size > names.MAX_LABEL:
            return 0
        at += 1 + size
    return 0
