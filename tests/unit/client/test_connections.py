"""Plain requests against a server that says exactly what a test wants it to say, byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from fairway.client import connections
from fairway.client.connections import Answer, Connections

from .fake_api import eventually

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
HANG_UP = b""


@dataclass
class Scripted:
    """Answers each request with the next of `answers`; an empty one closes the connection instead."""

    answers: list[bytes]
    heard: list[tuple[int, bytes]] = field(default_factory=list)  # which connection, what
    connected: int = 0
    ended: int = 0
    url: str = ""
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected += 1
        number = self.connected
        self.writers.append(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heard.append((number, head))
                answer = self.answers.pop(0) if self.answers else HANG_UP
                writer.write(answer)
                if answer is HANG_UP or b"close" in answer or b"Content-Length: 99" in answer:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        self.ended += 1


@asynccontextmanager
async def serving(*answers: bytes) -> AsyncIterator[tuple[Scripted, Connections]]:
    scripted = Scripted(list(answers))
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    made = Connections(scripted.url + "/k8s", None, None)
    try:
        yield scripted, made
    finally:
        made.close()
        await eventually(lambda: scripted.ended == scripted.connected)
        server.close()


async def get(made: Connections, method: str = "GET") -> Answer:
    return await asyncio.wait_for(made.exchange(method, "/api", (), b"{}" if method == "POST" else None), 30)


async def test_a_connection_is_kept_and_used_again() -> None:
    async with serving(HELLO, HELLO) as (server, made):
        assert [await get(made), await get(made)] == [Answer(200, b"hello")] * 2
        assert server.connected == 1


async def test_the_request_goes_below_the_path_of_the_server() -> None:
    async with serving(HELLO) as (server, made):
        await made.exchange("GET", "/api/a b?x=%20", (("Accept", "x"),))
        lines = server.heard[0][1].split(b"\r\n")
        assert lines[0] == b"GET /k8s/api/a%20b?x=%20 HTTP/1.1"
        assert lines[1:3] == [f"Host: {server.url.removeprefix('http://')}".encode(), b"Accept: x"]


async def test_as_many_connections_as_exchanges_at_once() -> None:
    async with serving(*[HELLO] * 6) as (server, made):
        await asyncio.gather(*(get(made) for _ in range(3)))
        await asyncio.gather(*(get(made) for _ in range(3)))
        assert server.connected == 3


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", b"hello"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + HELLO, b"hello"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
    ids=["chunked", "until the end", "after a continue", "nothing"],
)
async def test_every_form_of_answer_is_read(said: bytes, heard: bytes) -> None:
    async with serving(said) as (_, made):
        assert (await get(made)).body == heard


async def test_retry_after_comes_with_the_answer() -> None:
    async with serving(b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n") as (_, made):
        assert await get(made) == Answer(429, b"", "7")


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhello", b"SSH-2.0\r\n\r\n"])
async def test_a_broken_answer_is_an_error_and_ends_the_connection(said: bytes) -> None:
    async with serving(said, HELLO) as (server, made):
        with pytest.raises(OSError):
            await get(made)
        assert (await get(made)).body == b"hello"
        assert server.connected == 2


async def test_after_a_farewell_the_connection_is_not_used_again() -> None:
    farewell = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"
    async with serving(farewell, HELLO) as (server, made):
        await get(made)
        await get(made)
        assert server.connected == 2


async def test_what_is_repeatable_is_sent_again_when_a_kept_connection_turns_out_dead() -> None:
    async with serving(HELLO, HANG_UP, HELLO) as (server, made):
        await get(made)
        assert (await get(made)).body == b"hello"
        assert [number for number, _ in server.heard] == [1, 1, 2]


async def test_a_creation_is_never_sent_twice() -> None:
    async with serving(HELLO, HANG_UP, HELLO) as (server, made):
        await get(made)
        with pytest.raises(OSError):
            await get(made, "POST")
        assert len(server.heard) == 2


async def test_a_connection_that_closed_while_it_rested_costs_nothing() -> None:
    async with serving(HELLO, HELLO) as (server, made):
        await get(made)
        server.writers[0].close()
        await eventually(lambda: not any(connection.is_open for connection in made._open))
        assert (await get(made, "POST")).body == b"hello"


async def test_who_stops_waiting_leaves_no_answer_for_the_next() -> None:
    async with serving(b"HTTP/1.1 200 OK\r\n", HELLO) as (server, made):
        waiting = asyncio.create_task(get(made))
        await eventually(lambda: len(server.heard) == 1)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert (await get(made)).body == b"hello"
        assert server.connected == 2


async def test_a_connection_that_rests_for_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEEP_SECONDS", 0.0)
    async with serving(HELLO, HELLO) as (server, made):
        await get(made)
        await eventually(lambda: not any(connection.is_open for connection in made._open))
        await get(made)
        assert server.connected == 2


async def test_a_line_break_in_a_header_is_refused() -> None:
    async with serving(HELLO) as (server, made):
        with pytest.raises(OSError, match="line break"):
            await made.exchange("GET", "/api", (("Authorization", "Bearer x\r\nImpersonate-User: root"),))
        assert not server.heard
