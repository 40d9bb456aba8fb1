"""Requests and the three kinds of answer: a whole one, a stream, and a switch to another protocol.

Plain values; sending and receiving them is in `protocol`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

if TYPE_CHECKING:
    from fairway.httpserver.tunnel import Tunnel

Headers = tuple[tuple[str, str], ...]
Push = Callable[[bytes], bool]
"""Sends a piece of a stream; False if the client is behind or gone, and the iterator must see to it."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end: the address, and the names in a client certificate that was verified."""

    address: str = ""
    common_name: str = ""
    organizations: tuple[str, ...] = ()


@dataclass(slots=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""
    peer: Peer = field(default_factory=Peer)

    @property
    def raw_path(self) -> str:
        """The path as it was sent, still percent-encoded."""
        return self.target.partition("?")[0]

    @property
    def path(self) -> str:
        raw = self.raw_path
        return unquote(raw) if "%" in raw else raw

    @property
    def query_string(self) -> str:
        return self.target.partition("?")[2]

    def query(self) -> dict[str, str]:
        """Query parameters; of one given several times the first counts, as in Go's url.Values.Get."""
        values: dict[str, str] = {}
        for name, value in self.query_pairs():
            values.setdefault(name, value)
        return values

    def query_pairs(self) -> list[tuple[str, str]]:
        text = self.query_string
        return parse_qsl(text, keep_blank_values=True) if text else []

    @property
    def wants_upgrade(self) -> bool:
        return "upgrade" in self.headers.get("connection", "").lower() and "upgrade" in self.headers


@dataclass(slots=True)
class Response:
    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Headers = ()


@dataclass(slots=True)
class Stream:
    """An answer sent piece by piece, each flushed at once; ends when the iterator does."""

    chunks: AsyncIterator[bytes]
    status: int = 200
    content_type: str = "application/json"
    headers: Headers = ()
    told: Callable[[Push], None] | None = None
    """Is told how to send a piece at once while the iterator waits for news; saves waking it up for that."""


@dataclass(slots=True)
class Upgrade:
    """101 Switching Protocols: `talk` then owns the connection until it returns."""

    talk: Callable[[Tunnel], Awaitable[None]]
    headers: Headers = ()


Answer = Response | Stream | Upgrade
Handler = Callable[[Request], Awaitable[Answer]]


def reason_phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
