"""DNS messages between bytes and frozen structures (RFC 1035, 2308, 3597, 6891); pure, no I/O.

No input makes these functions raise anything but `Malformed` (queries) or `WireError` (answers of others).
What a question means is not decided here. Hot answers are prebuilt in `zone`; this is the general path.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from fairway.dns.layout import COMPRESSED, LAYOUT, NameWriter, WireError, map_names, read_name, read_rdata

A: Final = 1
NS: Final = 2
CNAME: Final = 5
SOA: Final = 6
PTR: Final = 12
HINFO: Final = 13
MX: Final = 15
TXT: Final = 16
AAAA: Final = 28
SRV: Final = 33
DNAME: Final = 39
DS: Final = 43
OPT: Final = 41
TSIG: Final = 250
IXFR: Final = 251
AXFR: Final = 252
ANY: Final = 255

IN: Final = 1
CH: Final = 3
CLASS_ANY: Final = 255

NOERROR: Final = 0
FORMERR: Final = 1
SERVFAIL: Final = 2
NXDOMAIN: Final = 3
NOTIMP: Final = 4
REFUSED: Final = 5
BADVERS: Final = 16

NOTIFY: Final = 4

QR: Final = 0x8000
AA: Final = 0x0400
TC: Final = 0x0200
RD: Final = 0x0100
RA: Final = 0x0080
AD: Final = 0x0020
CD: Final = 0x0010

MAX_MESSAGE: Final = 65535
PLAIN_UDP: Final = 512
UDP_SIZE: Final = 1232
"""The payload we announce: fits every path without fragments (DNS flag day 2020)."""

_HEADER = struct.Struct("!HHHHHH")
_FIXED = struct.Struct("!HHIH")

_LENGTH = {A: 4, AAAA: 16}


class Malformed(WireError):
    """A query that can't be served: the rcode to answer with, and the question as far as it was readable."""

    def __init__(self, rcode: int, question: bytes = b"") -> None:
        super().__init__(f"rcode {rcode}")
        self.rcode = rcode
        self.question = question


class Frozen(msgspec.Struct, frozen=True, gc=False):
    """Base of the structures here: immutable and without cycles."""


class Record(Frozen, frozen=True, gc=False):
    """One resource record; rdata uncompressed."""

    name: bytes
    type: int
    ttl: int
    data: bytes
    rdclass: int = IN


class Edns(Frozen, frozen=True, gc=False):
    size: int = UDP_SIZE
    do: bool = False
    version: int = 0
    options: bytes = b""


class Query(Frozen, frozen=True, gc=False):
    """One question with all that its message said around it."""

    id: int
    name: bytes
    type: int
    rdclass: int = IN
    flags: int = RD
    edns: Edns | None = None

    @property
    def key(self) -> bytes:
        """The name as it is compared: in small letters."""
        return self.name.lower()

    @property
    def question(self) -> bytes:
        return self.name + self.type.to_bytes(2, "big") + self.rdclass.to_bytes(2, "big")

    @property
    def do(self) -> bool:
        return self.edns is not None and self.edns.do


class Reply(Frozen, frozen=True):
    """What is answered to a query, before it becomes bytes. `flags` are those of AA, TC, RA and AD that hold.

    `foreign`: the answer is that of another server. Only such answers are ever cached; their CD bit is kept.
    """

    rcode: int = NOERROR
    answer: tuple[Record, ...] = ()
    authority: tuple[Record, ...] = ()
    additional: tuple[Record, ...] = ()
    flags: int = 0
    foreign: bool = False
    edns: Edns | None = None
    """The answer's own EDNS data, where they are not simply those of the query."""
    repeat: float = 0.0
    """For how many seconds the same question may be answered in just the same way, without any plugin."""


SILENCE = Reply(-1)
"""Stands for no answer at all."""


# ---- reading -------------------------------------------------------------------------------------------


def read_query(data: bytes) -> Query:
    """A query; `Malformed` says what to answer otherwise. The caller has seen to it that there is a header
    and that it is none of an answer."""
    ident, flags, questions, answers, authorities, extras = _HEADER.unpack_from(data)
    if flags >> 11 & 15 and not _is_notice(flags, answers):
        raise Malformed(NOTIMP)
    if questions != 1 or answers > 1 or authorities > 1 or extras > 2:
        raise Malformed(FORMERR)
    try:
        name, at = read_name(data, 12)
        rdtype, rdclass = struct.unpack_from("!HH", data, at)
    except (WireError, struct.error):
        raise Malformed(FORMERR) from None
    question = name + data[at : at + 4]
    try:
        edns = _read_extras(data, at + 4, answers + authorities, extras)
    except WireError:
        raise Malformed(FORMERR, question) from None
    return Query(ident, name, rdtype, rdclass, flags, edns)


def _is_notice(flags: int, answers: int) -> bool:
    """A NOTIFY as a primary sends it, with AA and its SOA (RFC 1996 section 3.7), is told the SOA we
    have."""
    return flags & (0x7800 | AA) == NOTIFY << 11 | AA and answers == 1


def _read_extras(data: bytes, at: int, others: int, extras: int) -> Edns | None:
    edns = None
    for index in range(others + extras):
        record, at = read_record(data, at)
        if record.type != OPT:
            continue
        if edns or index < others or record.name != b"\0":
            raise WireError("OPT where none may be")
        edns = read_edns(record)
    return edns


def read_record(data: bytes, at: int) -> tuple[Record, int]:
    name, at = read_name(data, at)
    try:
        rdtype, rdclass, ttl, length = _FIXED.unpack_from(data, at)
    except struct.error:
        raise WireError("a record is cut") from None
    at += 10
    if at + length > len(data):
        raise WireError("rdata runs past the end")
    if rdtype in LAYOUT:
        return Record(name, rdtype, ttl, read_rdata(data, at, length, LAYOUT[rdtype]), rdclass), at + length
    if _LENGTH.get(rdtype, length) != length and rdclass == IN:
        raise WireError("an address of the wrong length")
    return Record(name, rdtype, ttl, data[at : at + length], rdclass), at + length


def with_names(record: Record, change: Callable[[bytes], bytes]) -> Record:
    """The record with every name in its rdata replaced by what `change` makes of it."""
    layout = LAYOUT.get(record.type)
    if layout is None:
        return record
    return msgspec.structs.replace(record, data=map_names(record.data, layout, change))


def read_edns(record: Record) -> Edns:
    at, options = 0, record.data
    while at < len(options):
        if at + 4 > len(options):
            raise WireError("an EDNS option is cut")
        at += 4 + int.from_bytes(options[at + 2 : at + 4], "big")
    if at != len(options):
        raise WireError("an EDNS option runs past the end")
    return Edns(record.rdclass, bool(record.ttl & 0x8000), record.ttl >> 16 & 255, options)


def read_reply(data: bytes, query: Query) -> Reply | None:
    """An answer to just this query, or None if it answers another one; `WireError` if it is none."""
    if len(data) < 12:
        raise WireError("shorter than a header")
    ident, flags, questions, *counts = _HEADER.unpack_from(data)
    if ident != query.id or not flags & QR or flags >> 11 & 15:
        return None
    rcode = flags & 15
    if questions == 0 and rcode not in (NOERROR, NXDOMAIN):
        return Reply(rcode, flags=flags & (TC | RA | CD), foreign=True)
    if questions != 1:
        return None
    name, at = read_name(data, 12)
    if name.lower() + data[at : at + 4] != query.key + query.question[-4:]:
        return None
    (answer, authority, extra), extended = _read_sections(data, at + 4, counts, bool(flags & TC))
    kept = flags & (AA | TC | RA | AD | CD)
    return Reply(rcode | extended << 4, answer, authority, extra, kept, foreign=True)


def read_reply_edns(data: bytes) -> Edns | None:
    """The EDNS data of a message that `read_reply` has taken; None if it has none, or is cut before."""
    _, _, questions, *counts = _HEADER.unpack_from(data)
    try:
        at = 12
        for _ in range(questions):
            at = read_name(data, at)[1] + 4
        for _ in range(sum(counts)):
            record, at = read_record(data, at)
            if record.type == OPT:
                return read_edns(record)
    except WireError:
        pass
    return None


def _read_sections(
    data: bytes, at: int, counts: Sequence[int], cut: bool
) -> tuple[list[tuple[Record, ...]], int]:
    sections: list[list[Record]] = [[], [], []]
    extended = 0
    try:
        for section, count in zip(sections, counts, strict=True):
            for _ in range(count):
                record, at = read_record(data, at)
                if record.type == OPT:
                    extended = record.ttl >> 24
                else:
                    section.append(record)
    except WireError:
        if not cut:
            raise
    return [tuple(section) for section in sections], extended


# ---- writing -------------------------------------------------------------------------------------------


def write_query(query: Query) -> bytes:
    extra = write_opt(query.edns) if query.edns else b""
    flags = query.flags & (RD | CD | AD)
    return _HEADER.pack(query.id, flags, 1, 0, 0, 1 if extra else 0) + query.question + extra


def write_opt(edns: Edns, rcode: int = NOERROR) -> bytes:
    ttl = (rcode >> 4) << 24 | edns.version << 16 | (0x8000 if edns.do else 0)
    return b"\0" + _FIXED.pack(OPT, edns.size, ttl, len(edns.options)) + edns.options


def write_error(data: bytes, rcode: int, question: bytes = b"") -> bytes:
    """The answer to a message that could not be read as a query: its id, opcode and RD, and the rcode."""
    flags = int.from_bytes(data[2:4], "big") & (0x7800 | RD) | QR | rcode
    return data[:2] + struct.pack("!HHHHH", flags, 1 if question else 0, 0, 0, 0) + question


def write_reply(query: Query, reply: Reply, limit: int) -> bytes:
    """The message, at most `limit` octets long. TC is set when records of the answer or authority had to be
    left out; of the additional section just as much is sent as fits (RFC 2181 section 9)."""
    edns = reply.edns or (Edns(query.edns.size, query.edns.do) if query.edns else None)
    opt = write_opt(edns, reply.rcode) if edns else b""
    writer = _Writer(query.question, min(limit, MAX_MESSAGE) - len(opt))
    answers, whole = writer.section(reply.answer)
    authorities, also = writer.section(reply.authority) if whole else (0, False)
    extras = writer.section(reply.additional)[0] if whole and also else 0
    copied = 0x7800 | (RD if reply.foreign else RD | CD)
    flags = QR | reply.flags | query.flags & copied | reply.rcode & 15
    if not (whole and also):
        flags |= TC
    head = _HEADER.pack(query.id, flags, 1, answers, authorities, extras + (1 if opt else 0))
    return head + bytes(writer.out[12:]) + opt


class _Writer(NameWriter):
    """Writes records one after another until no more fit."""

    def __init__(self, question: bytes, limit: int) -> None:
        super().__init__(bytes(12) + question)
        self.limit = limit
        self.remember(question[:-4], 12)

    def section(self, records: Sequence[Record]) -> tuple[int, bool]:
        """How many of the records were written, and whether that was all."""
        for count, record in enumerate(records):
            before = len(self.out)
            self._record(record)
            if len(self.out) > self.limit:
                del self.out[before:]
                return count, False
        return len(records), True

    def _record(self, record: Record) -> None:
        self.name(record.name)
        out = self.out
        at = len(out) + 8
        out += _FIXED.pack(record.type, record.rdclass, record.ttl, len(record.data))
        if record.type in COMPRESSED:
            self.rdata(record.data, LAYOUT[record.type])
            out[at : at + 2] = (len(out) - at - 2).to_bytes(2, "big")
        else:
            out += record.data
