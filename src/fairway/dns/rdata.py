"""Types, classes and rcodes by name, and records from their text form (as zone files write them).

For configuration and logs; messages are made of numbers and bytes (`wire`). Types without a text form of
their own here can be written as RFC 3597 has it: `TYPE65280 \\# 4 0a000001`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence

from fairway.dns import names, wire
from fairway.dns.wire import Record

_TYPES = """
A=1 NS=2 CNAME=5 SOA=6 PTR=12 HINFO=13 MX=15 TXT=16 RP=17 AFSDB=18 SIG=24 KEY=25 AAAA=28 LOC=29 SRV=33
NAPTR=35 KX=36 CERT=37 DNAME=39 OPT=41 APL=42 DS=43 SSHFP=44 IPSECKEY=45 RRSIG=46 NSEC=47 DNSKEY=48
DHCID=49 NSEC3=50 NSEC3PARAM=51 TLSA=52 SMIMEA=53 HIP=55 CDS=59 CDNSKEY=60 OPENPGPKEY=61 CSYNC=62
ZONEMD=63 SVCB=64 HTTPS=65 SPF=99 EUI48=108 EUI64=109 TKEY=249 TSIG=250 IXFR=251 AXFR=252 MAILB=253
MAILA=254 ANY=255 URI=256 CAA=257
"""
_RCODES = """
NOERROR=0 FORMERR=1 SERVFAIL=2 NXDOMAIN=3 NOTIMP=4 REFUSED=5 YXDOMAIN=6 YXRRSET=7 NXRRSET=8 NOTAUTH=9
NOTZONE=10 BADVERS=16 BADCOOKIE=23
"""


def _table(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in (entry.split("=") for entry in text.split())}


TYPES = _table(_TYPES)
CLASSES = {"IN": 1, "CH": 3, "HS": 4, "NONE": 254, "ANY": 255}
RCODES = _table(_RCODES)
_TYPE_NAMES = {number: name for name, number in TYPES.items()}
_RCODE_NAMES = {number: name for name, number in RCODES.items()}
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s()"]+)|[()\s]+')


class RecordError(ValueError):
    """A text that is no record."""


def type_number(text: str) -> int:
    upper = text.upper()
    if upper in TYPES:
        return TYPES[upper]
    if upper.startswith("TYPE") and upper[4:].isdigit() and int(upper[4:]) < 65536:
        return int(upper[4:])
    raise RecordError(f"there is no type '{text}'")


def type_text(number: int) -> str:
    return _TYPE_NAMES.get(number, f"TYPE{number}")


def class_number(text: str) -> int:
    upper = text.upper()
    if upper in CLASSES:
        return CLASSES[upper]
    if upper.startswith("CLASS") and upper[5:].isdigit() and int(upper[5:]) < 65536:
        return int(upper[5:])
    raise RecordError(f"there is no class '{text}'")


def rcode_number(text: str) -> int:
    if text.upper() in RCODES:
        return RCODES[text.upper()]
    raise RecordError(f"there is no rcode '{text}'")


def rcode_text(number: int) -> str:
    return _RCODE_NAMES.get(number, str(number))


# ---- records from text ---------------------------------------------------------------------------------


def record(text: str) -> Record:
    """`NAME [TTL] [CLASS] TYPE RDATA` as a record."""
    words = split(text)
    try:
        owner, rest = names.from_text(words[0]), words[1:]
        ttl, rdclass = 3600, wire.IN
        while rest[0].isdigit() or rest[0].upper() in CLASSES:
            if rest[0].isdigit():
                ttl = int(rest[0])
            else:
                rdclass = CLASSES[rest[0].upper()]
            rest = rest[1:]
        rdtype = type_number(rest[0])
        return Record(owner, rdtype, ttl, data(rdtype, rest[1:]), rdclass)
    except (IndexError, struct.error, names.InvalidName):
        raise RecordError(f"no record: {text!r}") from None


def split(text: str) -> list[str]:
    """Words; quoted ones may hold blanks, parentheses only group."""
    return [
        m[1].replace('\\"', '"') if m[1] is not None else m[2]
        for m in _WORD.finditer(text)
        if m[1] is not None or m[2] is not None
    ]


def data(rdtype: int, words: Sequence[str]) -> bytes:
    """Rdata from its words."""
    if words and words[0] == "\\#":
        found = bytes.fromhex("".join(words[2:]))
        if len(found) != int(words[1]):
            raise RecordError("the length of the rdata is not the one said")
        return found
    reader = _READERS.get(rdtype)
    if reader is None:
        raise RecordError(f"the type {type_text(rdtype)} can only be written as '\\# LENGTH HEX'")
    try:
        return reader(words)
    except (IndexError, ValueError, struct.error) as error:
        raise RecordError(f"no {type_text(rdtype)} record: {' '.join(words)!r} ({error})") from None


def _address(size: int) -> Callable[[Sequence[str]], bytes]:
    def read(words: Sequence[str]) -> bytes:
        (word,) = words
        packed = names.packed(word)
        if packed is None or len(packed) != size:
            raise RecordError(f"'{word}' is no such address")
        return packed

    return read


def _name(words: Sequence[str]) -> bytes:
    (word,) = words
    return names.from_text(word)


def _soa(words: Sequence[str]) -> bytes:
    primary, mail, *timers = words
    return names.from_text(primary) + names.from_text(mail) + struct.pack("!IIIII", *map(int, timers))


def _strings(words: Sequence[str]) -> bytes:
    if not words:
        raise RecordError("no text")
    return b"".join(_string(word.encode()) for word in words)


def _string(raw: bytes) -> bytes:
    if len(raw) > 255:
        raise RecordError("a string may have 255 octets")
    return bytes((len(raw),)) + raw


def _caa(words: Sequence[str]) -> bytes:
    flags, tag, value = words
    return struct.pack("!B", int(flags)) + _string(tag.encode()) + value.encode()


_READERS: dict[int, Callable[[Sequence[str]], bytes]] = {
    wire.A: _address(4),
    wire.AAAA: _address(16),
    wire.NS: _name,
    wire.CNAME: _name,
    wire.PTR: _name,
    wire.DNAME: _name,
    wire.SOA: _soa,
    wire.TXT: _strings,
    wire.HINFO: _strings,
    wire.MX: lambda words: struct.pack("!H", int(words[0])) + _name(words[1:]),
    wire.SRV: lambda words: struct.pack("!HHH", *map(int, words[:3])) + _name(words[3:]),
    TYPES["CAA"]: _caa,
}
