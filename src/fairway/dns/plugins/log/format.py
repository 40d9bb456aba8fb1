"""The formats of CoreDNS's `log`: `{name}`, `{rcode}`, `{>rflags}` and the like, filled in. Pure."""

from __future__ import annotations

import re

from fairway.dns import names, rdata, wire
from fairway.dns.plugin import Request
from fairway.dns.wire import Reply

COMMON = (
    '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" '
    "{rcode} {>rflags} {rsize} {duration}"
)
_COMBINED = COMMON + ' "{>opcode}"'
_PLACEHOLDER = re.compile(r"\{(>?[a-z]+)\}")
_FLAGS = (
    ("qr", wire.QR), ("aa", wire.AA), ("tc", wire.TC), ("rd", wire.RD), ("ra", wire.RA), ("ad", wire.AD),
    ("cd", wire.CD),
)  # fmt: skip
_CLASSES = {number: text for text, number in rdata.CLASSES.items()}


def is_format(text: str) -> bool:
    return "{" in text


def line(pattern: str, request: Request, reply: Reply | None, seconds: float) -> str:
    """The log line. Unknown placeholders are written as `-`, as CoreDNS does."""
    full = pattern.replace("{common}", COMMON).replace("{combined}", _COMBINED)
    values = _values(request, reply or Reply(wire.SERVFAIL), seconds)
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], "-"), full)


def _values(request: Request, reply: Reply, seconds: float) -> dict[str, str]:
    query = request.query
    answer = wire.write_reply(query, reply, wire.MAX_MESSAGE) if reply.rcode >= 0 else b"\0" * 12
    flags = int.from_bytes(answer[2:4], "big")
    remote = f"[{request.client}]" if ":" in request.client else request.client
    return {
        "type": rdata.type_text(query.type),
        "name": names.to_text(query.name),
        "class": _CLASSES.get(query.rdclass, f"CLASS{query.rdclass}"),
        "proto": "tcp" if request.tcp else "udp",
        "remote": remote,
        "port": str(request.port),
        "size": str(len(wire.write_query(query))),
        "duration": f"{seconds:.9f}s",
        "rcode": rdata.rcode_text(max(reply.rcode, 0)),
        "rsize": str(len(answer)),
        ">rflags": ",".join(text for text, bit in _FLAGS if flags & bit),
        ">bufsize": str(query.edns.size if query.edns else wire.PLAIN_UDP),
        ">do": "true" if query.do else "false",
        ">id": str(query.id),
        ">opcode": str(query.flags >> 11 & 15),
    }
