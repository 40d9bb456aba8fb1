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

from fairway.dns import explain, names, wire
from fairway.dns.wire import Query
from fairway.dns.zone.model import EXISTS, Names, Node
from fairway.dns.zone.prebuilt import Prebuilt, Shuffled
from fairway.dns.zone.reply import resolve, soa
from fairway.dns.zone.zone import Zone

PLAIN = b"\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
"""What lies between id and question in the query of a plain stub resolver: RD, one question, nothing else."""

_MOST_MEMOS, _MOST_DENIALS = 16384, 4096
_TYPE_A, _TYPE_AAAA, _TYPE_SRV = b"\0\x01\0\x01", b"\0\x1c\0\x01", b"\0\x21\0\x01"
_SHORTEST = 17
"""Octets of a question for the root."""
_OWNER = b"\xc0\x0c"
_ONE_QUESTION = b"\x00\x01\x00\x00\x00\x00\x00"
_NEGATIVE_COUNTS = b"\0\x01\0\0\0\x01\0\0"
_DENIED = bytes((0x85, wire.NXDOMAIN)) + _NEGATIVE_COUNTS
_CHAINED = frozenset((wire.TXT, wire.NS, wire.SOA, wire.CNAME, wire.DS, wire.ANY, wire.AXFR, wire.IXFR))
"""Types that the chain answers: plugins have ideas of their own about them, and nobody asks them often."""
_EXPLAIN = explain.OPTION.to_bytes(2, "big")
_HEADS = tuple(bytes((0x84 | rd, cd << 4)) for rd in (0, 1) for cd in (0, 1))
_DENIALS = tuple(bytes((head[0], head[1] | wire.NXDOMAIN)) for head in _HEADS)


class Compiled:
    """The messages of one zone. `passes_on` says whether a name that does not exist is another plugin's
    affair; in the zones of `closed` it never is."""

    def __init__(
        self,
        zone: Zone,
        shuffle: bool,
        passes_on: Callable[[bytes], bool],
        closed: frozenset[bytes] = frozenset(),
    ) -> None:
        self.zone = zone
        self.shuffle = shuffle
        self.passes_on = passes_on
        self.closed = closed
        self.answers: dict[bytes, Prebuilt] = {}
        self._large: dict[bytes, Shuffled] = {}
        """Answers that no plain datagram holds."""
        self._services: dict[bytes, bytes] = {}
        """SRV answers as they were last written."""
        self._memo: dict[bytes, bytes] = {}
        self._denied: dict[bytes, bytes] = {}
        self._barren: dict[bytes, bytes] = {}
        """Below `svc`: what follows the first label of a question, where only nodes can be; and the zone."""
        self._repeatable = True
        self._soas: dict[tuple[bytes, int], bytes] = {}
        self._soa_serial = 0
        self._prefix_a = _OWNER + _TYPE_A + struct.pack("!IH", zone.settings.ttl, 4)
        self._prefix_aaaa = _OWNER + _TYPE_AAAA + struct.pack("!IH", zone.settings.ttl, 16)
        zone.on_publish = self.replace
        zone.on_change = self._forget

    def _forget(self) -> None:
        self._memo.clear()
        self._denied.clear()
        self._barren.clear()

    def replace(self, old: Names, new: Names) -> None:
        """Takes over what a Service's names became."""
        self._forget()
        origin = self.zone.settings.primary
        if self._services:
            for relative in (*old.nodes, *new.nodes):
                self._services.pop(relative + origin + _TYPE_SRV, None)
        for relative, node in old.nodes.items():
            if new.nodes.get(relative) != node:
                for kind in (_TYPE_A, _TYPE_AAAA):
                    self.answers.pop(relative + origin + kind, None)
                    self._large.pop(relative + origin + kind, None)
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
        size = 2 + len(head) + len(records) * len(records[0])
        if size > wire.PLAIN_UDP:
            if self.shuffle and size < wire.MAX_MESSAGE:
                self._large[question] = Shuffled(head, records)
        elif self.shuffle and len(records) > 1:
            self.answers[question] = Shuffled(head, records)
        else:
            self.answers[question] = head + b"".join(records)

    # ---- answering -------------------------------------------------------------------------------------

    def answer_datagram(self, data: bytes) -> bytes | None:
        """As `answer`, for UDP. What was asked in just the same words is remembered until anything
        changes."""
        key = data[2:]
        again = self._memo.get(key) or self._denied.get(key)
        if again is not None:
            return data[:2] + again
        origin = self._barren.get(data[13 + data[12] :]) if len(data) > _SHORTEST else None
        if origin is not None and (denial := self._denial(data, origin)):
            return denial
        self._repeatable = True
        message = self.answer(data, wire.PLAIN_UDP)
        if message is not None and self._repeatable:
            # Floods of names that don't exist must not push out what does.
            memo = self._denied if message[3] & 15 else self._memo
            if len(memo) >= (_MOST_DENIALS if memo is self._denied else _MOST_MEMOS):
                memo.clear()
            memo[key] = message[2:]
        return message

    def answer(self, data: bytes, limit: int) -> bytes | None:
        """The message that answers a query of at most `limit` octets without EDNS; None: not for us to
        say."""
        size = len(data)
        if size < _SHORTEST or data[4:11] != _ONE_QUESTION or data[2] & 0xF8 or data[11] > 1:
            return None
        # Walking over the labels here, without a call, is worth a tenth of the time of the whole answer.
        starts = []
        at, last, label = 12, size - 5, data[12]
        while label:
            starts.append(at)
            at += label + 1
            if label > names.MAX_LABEL or at > last:
                return None
            label = data[at]
        end = at + 1
        if end > 12 + names.MAX_NAME or data[end + 2 : end + 4] != b"\0\x01":
            return None
        if size == end + 4 and not data[11]:
            return self._message(data, end, starts, limit)
        opt = _reply_opt(data[end + 4 :]) if data[11] else None
        if opt is None:
            return None
        room = max(limit, opt[3] << 8 | opt[4]) - len(opt)
        message = self._message(data, end, starts, room)
        if message is None:
            return None
        return message[:11] + bytes((message[11] + 1,)) + message[12:] + opt

    def _message(self, data: bytes, end: int, starts: list[int], limit: int) -> bytes | None:
        asked = data[12:end]
        name = asked.lower()
        if name != asked:
            # Letter cases are thrown anew for every question: to remember them would be in vain.
            self._repeatable = False
        key = name + data[end : end + 4]
        hit = self.answers.get(key) or self._large.get(key)
        if hit is None:
            return self._from_node(data, name, end, starts, limit)
        if hit.__class__ is not bytes:
            self._repeatable = False
            hit = hit.pick_some(limit)  # type: ignore[union-attr]
        elif len(hit) + 2 > limit:
            return self._from_node(data, name, end, starts, limit)
        flags = bytes((hit[0] & 0xFE | data[2] & 1, data[3] & 0x10))
        return data[:2] + flags + hit[2:10] + data[12 : end + 4] + hit[end + 2 :]

    def _from_node(self, data: bytes, name: bytes, end: int, starts: list[int], limit: int) -> bytes | None:
        zone = self.zone
        for origin in zone.origins:
            if name.endswith(origin) and (end - len(origin) in starts or name == origin):
                break
        else:
            return None
        rdtype = data[end] << 8 | data[end + 1]
        if rdtype in _CHAINED:
            return None
        node = zone.find(name, origin)
        if node is None:
            if origin not in self.closed and self.passes_on(name):
                return None
            self._note_barren(data, name, end, origin)
            return self._negative(data, end, origin, _DENIALS)
        if node.cname or (node is EXISTS and origin not in self.closed and self.passes_on(name)):
            return None
        if not _has(node, rdtype):
            return self._negative(data, end, origin, _HEADS)
        if rdtype == wire.SRV and self._repeatable:
            return self._srv(data, name, end, limit)
        return self._written(data, end, rdtype, limit)

    def _srv(self, data: bytes, name: bytes, end: int, limit: int) -> bytes | None:
        """From what was last written for this name, as long as its Service has not changed."""
        body = self._services.get(name + _TYPE_SRV)
        if body is None:
            message = self._written(data, end, wire.SRV, limit)
            ours = name.endswith(self.zone.settings.primary)
            if message and ours and len(message) <= wire.PLAIN_UDP and not message[2] & wire.TC >> 8:
                if len(self._services) >= _MOST_MEMOS:
                    self._services.clear()
                self._services[name + _TYPE_SRV] = message[4:]
            return message
        if len(body) + 4 > limit:
            return self._written(data, end, wire.SRV, limit)
        return data[:2] + _HEADS[(data[2] & 1) << 1 | data[3] >> 4 & 1] + body

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

    def _denial(self, data: bytes, origin: bytes) -> bytes | None:
        """For a plain question of which all but the first label is known, with nothing but nodes there."""
        offset = len(data) - 4 - len(origin)
        relative = data[12:offset].lower()
        if (
            data[2:12] != PLAIN
            or data[12] > names.MAX_LABEL
            or len(data) > 16 + names.MAX_NAME
            or relative in self.zone.nodes
            or b"_" in relative
        ):
            return None
        return data[:2] + _DENIED + data[12:] + self._soa(origin, offset)

    def _note_barren(self, data: bytes, name: bytes, end: int, origin: bytes) -> None:
        """Floods of names that don't exist differ in their first label, and search paths put it before the
        same domains again and again."""
        parent = name[1 + name[0] :]
        relative = parent[: len(parent) - len(origin)]
        if self._repeatable and origin in self.closed and self.zone.has_only_nodes_below(relative):
            if len(self._barren) >= _MOST_DENIALS:
                self._barren.clear()
            self._barren[parent + data[end : end + 4]] = origin
            self._repeatable = False

    def _negative(self, data: bytes, end: int, origin: bytes, heads: tuple[bytes, ...]) -> bytes:
        head = heads[(data[2] & 1) << 1 | data[3] >> 4 & 1]
        question = data[12 : end + 4]
        return data[:2] + head + _NEGATIVE_COUNTS + question + self._soa(origin, end - len(origin))

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


def _reply_opt(opt: bytes) -> bytes | None:
    """The OPT record to answer with: size and DO as they came, no options, as none is understood (RFC 6891
    section 6.1.2; cookies are optional, RFC 7873). None: it is not the last record, or not a right one."""
    if opt[:3] != b"\0\0\x29" or len(opt) < 11 or opt[6] or len(opt) != 11 + (opt[9] << 8 | opt[10]):
        return None
    at = 11
    while at < len(opt):
        if opt[at : at + 2] == _EXPLAIN:
            return None
        at += 4 + int.from_bytes(opt[at + 2 : at + 4], "big")
    return opt[:5] + b"\0\0" + bytes((opt[7] & 0x80,)) + b"\0\0\0" if at == len(opt) else None
