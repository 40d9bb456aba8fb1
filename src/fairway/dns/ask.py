"""Asking a DNS server one question, as a stub resolver does, and where the answer came from if it tells.

Also in which order a resolver tries the names of a search list. Meant for commands, not for the server.
"""

from __future__ import annotations

import secrets
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

from fairway.dns import explain, names, rdata, wire
from fairway.dns.wire import Edns, Query, Record, Reply

_PATIENCE = 5.0
_LARGEST = 65535


class NoAnswer(Exception):
    """The server kept silent, or could not be reached."""


@dataclass(frozen=True)
class Answer:
    query: Query
    reply: Reply
    origin: str
    """In the server's words; empty if it told nothing."""
    seconds: float
    protocol: str


def candidates(name: str, search: Sequence[str], ndots: int) -> list[str]:
    """The names a resolver asks for, in order (resolv.conf(5)): as it is first if it has enough dots."""
    if name.endswith("."):
        return [name]
    absolute = name + "."
    searched = [f"{name}.{domain.rstrip('.')}." for domain in search]
    return [absolute, *searched] if name.count(".") >= ndots else [*searched, absolute]


def ask(server: str, port: int, name: str, rdtype: int) -> Answer:
    """Over UDP, and over TCP if the answer was cut."""
    edns = Edns(wire.UDP_SIZE, options=explain.WISH)
    query = Query(secrets.randbits(16), names.from_text(name), rdtype, edns=edns)
    begin = time.perf_counter()
    try:
        data, protocol = _over_udp(server, port, query), "udp"
        if data[2] << 8 & wire.TC:
            data, protocol = _over_tcp(server, port, query), "tcp"
    except (OSError, EOFError) as error:
        raise NoAnswer(f"{server}:{port}: {error or 'no answer'}") from None
    seconds = time.perf_counter() - begin
    reply = wire.read_reply(data, query)
    if reply is None:
        raise NoAnswer(f"{server}:{port}: answered another question")
    return Answer(query, reply, explain.text_of(wire.read_reply_edns(data)), seconds, protocol)


def _over_udp(server: str, port: int, query: Query) -> bytes:
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(_PATIENCE)
        sock.connect((server, port))
        sock.send(wire.write_query(query))
        while True:
            data = sock.recv(_LARGEST)
            if data[:2] == query.id.to_bytes(2, "big"):
                return data


def _over_tcp(server: str, port: int, query: Query) -> bytes:
    with socket.create_connection((server, port), _PATIENCE) as sock, sock.makefile("rb") as stream:
        message = wire.write_query(query)
        sock.sendall(struct.pack("!H", len(message)) + message)
        return stream.read(int.from_bytes(stream.read(2), "big"))


def shown(record: Record) -> str:
    """A record as dig shows it."""
    return " ".join(
        (names.to_text(record.name), str(record.ttl), "IN", rdata.type_text(record.type), data_text(record))
    )


def data_text(record: Record) -> str:
    data = record.data
    match record.type:
        case wire.A | wire.AAAA:
            return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)
        case wire.CNAME | wire.PTR | wire.NS | wire.DNAME:
            return names.to_text(data)
        case wire.SRV:
            return " ".join((*map(str, struct.unpack_from("!HHH", data)), names.to_text(data[6:])))
        case wire.MX:
            return f"{int.from_bytes(data[:2], 'big')} {names.to_text(data[2:])}"
        case wire.TXT | wire.HINFO:
            return " ".join(f'"{text}"' for text in _strings(data))
        case wire.SOA:
            first = len(names.join(names.labels(data[: data.index(0) + 1]))) + 1
            numbers = struct.unpack("!IIIII", data[-20:])
            return " ".join((names.to_text(data[:first]), names.to_text(data[first:-20]), *map(str, numbers)))
    return f"\\# {len(data)} {data.hex()}"


def _strings(data: bytes) -> list[str]:
    found, at = [], 0
    while at < len(data):
        found.append(data[at + 1 : at + 1 + data[at]].decode("utf-8", "replace"))
        at += 1 + data[at]
    return found
