"""Names within messages and rdata: compressed and not, read and written (RFC 1035 section 4.1.4). Pure.

Which fields of which types hold names is one table here; what messages are made of otherwise is in `wire`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairway.dns.names import MAX_NAME

# How the rdata of the types that may hold compressed names (RFC 3597 section 4) is laid out: a number of
# octets, "n" a name, "s" a character string.
LAYOUT: dict[int, tuple[int | str, ...]] = {
    2: ("n",),  # NS
    3: ("n",),  # MD
    4: ("n",),  # MF
    5: ("n",),  # CNAME
    6: ("n", "n", 20),  # SOA
    7: ("n",),  # MB
    8: ("n",),  # MG
    9: ("n",),  # MR
    12: ("n",),  # PTR
    14: ("n", "n"),  # MINFO
    15: (2, "n"),  # MX
    17: ("n", "n"),  # RP
    18: (2, "n"),  # AFSDB
    21: (2, "n"),  # RT
    26: (2, "n", "n"),  # PX
    33: (6, "n"),  # SRV
    35: (4, "s", "s", "s", "n"),  # NAPTR
    36: (2, "n"),  # KX
    39: ("n",),  # DNAME
}
COMPRESSED = frozenset((2, 5, 6, 12, 15))
"""Types whose names we compress: those of RFC 1035, which everyone can read."""


class WireError(ValueError):
    """Bytes that are no DNS message."""


def read_name(data: bytes, at: int) -> tuple[bytes, int]:
    """A name, decompressed, and where what follows it begins."""
    out, size, after, limit = [], 0, -1, at
    try:
        while length := data[at]:
            if length < 64:
                out.append(data[at : at + 1 + length])
                at += 1 + length
                size += 1 + length
                if size >= MAX_NAME or at >= len(data):
                    raise WireError("a name runs past the end or is too long")
            elif length >= 192:
                target = (length & 63) << 8 | data[at + 1]
                after = at + 2 if after < 0 else after
                # Each pointer must lead further back than the last, so no chain of them can go on for ever.
                if not 12 <= target < limit:
                    raise WireError("a compression pointer does not lead back")
                at = limit = target
            else:
                raise WireError("a label of unknown type")
    except IndexError:
        raise WireError("a name runs past the end") from None
    return b"".join(out) + b"\0", at + 1 if after < 0 else after


def read_rdata(data: bytes, at: int, length: int, layout: Iterable[int | str]) -> bytes:
    out, end = [], at + length
    for part in layout:
        if part == "n":
            name, at = read_name(data, at)
            out.append(name)
            continue
        size = part if isinstance(part, int) else 1 + data[at] if at < end else 1
        out.append(data[at : at + size])
        at += size
    if at != end:
        raise WireError("rdata does not fit its length")
    return b"".join(out)


def map_names(data: bytes, layout: Iterable[int | str], change: Callable[[bytes], bytes]) -> bytes:
    """Uncompressed rdata with every name replaced by what `change` makes of it."""
    out, at = [], 0
    for part in layout:
        if part == "n":
            name, at = read_name(data, at)
            out.append(change(name))
            continue
        size = part if isinstance(part, int) else 1 + data[at]
        out.append(data[at : at + size])
        at += size
    return b"".join(out)


class NameWriter:
    """A message that grows; names that stood in it before are written as pointers to there."""

    def __init__(self, start: bytes) -> None:
        self.out = bytearray(start)
        self._offsets: dict[bytes, int] = {}

    def remember(self, labels: bytes, base: int, tail: bytes = b"") -> None:
        """Notes where a name stands, and with it the names it ends in."""
        at = 0
        while at < len(labels) and (size := labels[at]):
            if base + at > 0x3FFF:
                return
            self._offsets.setdefault(labels[at:] + tail, base + at)
            at += 1 + size

    def name(self, name: bytes) -> None:
        at = 0
        while size := name[at]:
            known = self._offsets.get(name[at:])
            if known is not None:
                self.remember(name[:at], len(self.out), name[at:])
                self.out += name[:at] + (0xC000 | known).to_bytes(2, "big")
                return
            at += 1 + size
        self.remember(name[:-1], len(self.out), b"\0")
        self.out += name

    def rdata(self, data: bytes, layout: Iterable[int | str]) -> None:
        """Rdata whose names may be compressed."""
        at = 0
        for part in layout:
            if isinstance(part, int):
                self.out += data[at : at + part]
                at += part
            else:
                name, at = read_name(data, at)
                self.name(name)
