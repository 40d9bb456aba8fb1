"""Domain names: between text and wire format, their labels, and the reverse names of addresses.

A name is its uncompressed wire form as `bytes`, ending in the root's zero octet; a *relative* name is the
same without the zero, to be put before a zone. Compression and messages are in `wire`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

ROOT = b"\0"
MAX_NAME = 255
MAX_LABEL = 63
IN_ADDR = b"\x07in-addr\x04arpa\0"
IP6 = b"\x03ip6\x04arpa\0"

_ESCAPE = re.compile(rb"\\(\d{3}|.)", re.DOTALL)
_PLAIN = re.compile(rb"[A-Za-z0-9_*-]*\Z")
# No octet with a leading zero: some read those as octal. Far faster than `ipaddress`, and there are many.
_IPV4 = re.compile(r"(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\Z", re.ASCII)
_SPECIAL = b'.\\"();@$'


class InvalidName(ValueError):
    """A text that is no domain name."""


def from_text(text: str) -> bytes:
    """`a.b.` or `a.b` (taken as absolute) as wire format; `\\.` and `\\DDD` escapes are understood."""
    return relative(text) + ROOT


def relative(text: str) -> bytes:
    """The labels of a dotted text, without the root."""
    raw = text.encode("utf-8", "surrogateescape")
    if raw in (b"", b"."):
        return b""
    parts = raw.removesuffix(b".").split(b".") if b"\\" not in raw else _split_escaped(raw)
    return join(parts)


def join(labels: Iterable[bytes]) -> bytes:
    out = b""
    for label in labels:
        if not 0 < len(label) <= MAX_LABEL:
            raise InvalidName(f"a label must have 1 to {MAX_LABEL} octets, not {len(label)}")
        out += bytes((len(label),)) + label
    if len(out) >= MAX_NAME:
        raise InvalidName(f"a name may have {MAX_NAME} octets, not {len(out) + 1}")
    return out


def _split_escaped(raw: bytes) -> list[bytes]:
    parts, label, at = [], b"", 0
    while at < len(raw):
        match = _ESCAPE.match(raw, at)
        if match:
            label += _unescape(match[1])
            at = match.end()
        elif raw[at] == 0x2E:
            parts.append(label)
            label = b""
            at += 1
        else:
            label += raw[at : at + 1]
            at += 1
    return [*parts, label] if label else parts


def _unescape(code: bytes) -> bytes:
    if len(code) == 1:
        return code
    if int(code) > 255:
        raise InvalidName(f"no octet has the number {int(code)}")
    return bytes((int(code),))


def to_text(name: bytes) -> str:
    """Presentation form with a final dot; odd octets escaped as RFC 1035 section 5.1 has it."""
    return "".join(label_text(label) + "." for label in labels(name)) or "."


def label_text(label: bytes) -> str:
    if _PLAIN.match(label):
        return label.decode("ascii")
    return "".join(_octet_text(octet) for octet in label)


def _octet_text(octet: int) -> str:
    if octet in _SPECIAL:
        return "\\" + chr(octet)
    return chr(octet) if 0x21 <= octet <= 0x7E else f"\\{octet:03d}"


def labels(name: bytes) -> list[bytes]:
    """The labels of a name or relative name, leftmost first."""
    out, at, end = [], 0, len(name)
    while at < end and (size := name[at]):
        out.append(name[at + 1 : at + 1 + size])
        at += 1 + size
    return out


def starts(name: bytes) -> list[int]:
    """Where each label begins; `name[start:]` are the name and its ancestors, the root left out."""
    out, at = [], 0
    while size := name[at]:
        out.append(at)
        at += 1 + size
    return out


def ancestors(name: bytes) -> Iterable[bytes]:
    """The name itself, its parent … down to the root."""
    at = 0
    while size := name[at]:
        yield name[at:]
        at += 1 + size
    yield ROOT


def is_under(name: bytes, zone: bytes) -> bool:
    """Whether a name is the zone or lies below it; both in one case."""
    if not name.endswith(zone):
        return False
    # A label may hold octets that look like the zone, so the match must begin where a label does.
    cut, at = len(name) - len(zone), 0
    while at < cut:
        at += 1 + name[at]
    return at == cut


# ---- reverse names -------------------------------------------------------------------------------------


def packed(address: str) -> bytes | None:
    """The 4 or 16 octets of an IP address in text, or None if it is none."""
    try:
        if _IPV4.match(address):
            return bytes(map(int, address.split(".")))
        return ipaddress.ip_address(address).packed
    except ValueError:
        return None


def reverse(address: bytes) -> bytes:
    """The name of an address in in-addr.arpa or ip6.arpa."""
    if len(address) == 4:
        return join(str(octet).encode() for octet in reversed(address)) + IN_ADDR
    return join(digit.encode() for digit in reversed(address.hex())) + IP6


def address_digits(parts: list[bytes], six: bool) -> str | None:
    """The digits that the labels left of in-addr.arpa or ip6.arpa spell, most significant first, as hex.

    Two hex digits for each octet of IPv4, one for each nibble of IPv6; None if they are no such labels.
    """
    if six:
        ok = len(parts) <= 32 and all(len(p) == 1 and p in b"0123456789abcdef" for p in parts)
        return b"".join(reversed(parts)).decode() if ok else None
    if len(parts) > 4:
        return None
    out = ""
    for part in reversed(parts):
        if not part.isdigit() or len(part) > 3 or int(part) > 255 or (part[0] == 0x30 and len(part) > 1):
            return None
        out += f"{int(part):02x}"
    return out


def reverse_zone(network: str) -> list[bytes]:
    """`10.244.0.0/16` as the reverse zone or zones (cut at whole labels) that cover it."""
    net = ipaddress.ip_network(network, strict=False)
    step = 8 if net.version == 4 else 4
    upper = -(-net.prefixlen // step) * step
    count = upper // step
    suffix = IN_ADDR if net.version == 4 else IP6
    zones = []
    for sub in net.subnets(new_prefix=upper):
        digits = sub.network_address.packed
        parts = [str(o) for o in digits[:count]] if step == 8 else list(digits.hex()[:count])
        zones.append(join(part.encode() for part in reversed(parts)) + suffix)
    return zones
