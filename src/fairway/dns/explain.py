"""Where an answer came from, told to clients that ask for it: `fairway dns query` does.

The wish is an EDNS option of ours, the reply the text of an extended error without an error (RFC 8914), so
that other tools can show it, too. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

import msgspec

from fairway.dns.wire import Edns, Query, Reply

OPTION = 65313
"""Of the range for local use (RFC 6891 section 9)."""
_EXTENDED_ERROR, _OTHER = 15, 0
_LONGEST = 400
"""Octets of text: an answer must not outgrow its question by much."""


def options(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Code and content of every option."""
    at = 0
    while at + 4 <= len(data):
        code, size = struct.unpack_from("!HH", data, at)
        yield code, data[at + 4 : at + 4 + size]
        at += 4 + size


def is_wanted(data: bytes) -> bool:
    return any(code == OPTION for code, _ in options(data))


def told(reply: Reply, query: Query, trail: Iterable[str]) -> Reply:
    """The reply with the trail in it."""
    text = "; ".join(trail).encode()[:_LONGEST]
    content = struct.pack("!H", _OTHER) + text
    given = reply.edns or (Edns(query.edns.size, query.edns.do) if query.edns else Edns())
    more = given.options + struct.pack("!HH", _EXTENDED_ERROR, len(content)) + content
    return msgspec.structs.replace(reply, edns=msgspec.structs.replace(given, options=more), repeat=0.0)


def text_of(edns: Edns | None) -> str:
    """What the server told of the answer's origin."""
    found = options(edns.options) if edns else ()
    return next((c[2:].decode("utf-8", "replace") for code, c in found if code == _EXTENDED_ERROR), "")


WISH = struct.pack("!HH", OPTION, 0)
