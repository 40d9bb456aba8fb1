"""The HTTP server over real sockets on loopback."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from fairway.httpserver import HttpServer, Request, Response, Stream, Tunnel, Upgrade
from fairway.httpserver.protocol import MAX_HEAD_BYTES


async def application(request: Request) -> Response | Stream | Upgrade:
    match request.path:
        case "/echo":
            return Response(200, request.body, "text/plain", (("X-Method", request.method),))
        case "/query":
            return Response(200, repr(request.query()).encode())
        case "/stream":
            return Stream(_count())
        case "/broken-stream":
            return Stream(_break_off())
        case "/upgrade":
            return Upgrade(_shout, (("Connection", "Upgrade"), ("Upgrade", "shout")))
        case "/fail":
            raise RuntimeError("broken")
    return Response(404)


async def _count() -> AsyncIterator[bytes]:
    for number in range(3):
        yield f"{number}\n".encode()


async def _break_off() -> AsyncIterator[bytes]:
    yield b"half of it"
    raise RuntimeError("broken")


async def _shout(tunnel: Tunnel) -> None:
    while data := await tunnel.read():
        await tunnel.write(data.upper())


@pytest.fixture
async def port() -> AsyncIterator[int]:
    server = HttpServer(application, body_limit=1000)
    yield await server.listen("127.0.0.1", 0)
    await server.stop(0.1)


async def exchange(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_request_is_answered_and_the_connection_closed_when_asked(port: int) -> None:
    answer = await exchange(
        port, b"POST /echo HTTP/1.1\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
    )
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert b"X-Method: POST" in head
    assert body == b"hello"


async def test_pipelined_requests_are_answered_in_order(port: int) -> None:
    answer = await exchange(
        port,
        b"POST /echo HTTP/1.1\r\nContent-Length: 1\r\n\r\na"
        b"GET /stream HTTP/1.1\r\n\r\n"
        b"POST /echo HTTP/1.1\r\nContent-Length: 1\r\nConnection: close\r\n\r\nb",
    )
    assert answer.count(b"HTTP/1.1 200") == 3
    assert answer.index(b"\r\n\r\na") < answer.index(b"2\r\n0\n") < answer.index(b"\r\n\r\nb")


async def test_a_stream_is_chunked_and_ends_cleanly(port: int) -> None:
    answer = await exchange(port, b"GET /stream HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert answer.endswith(b"2\r\n0\n\r\n2\r\n1\n\r\n2\r\n2\n\r\n0\r\n\r\n")


async def test_a_body_over_the_limit_is_refused_with_413(port: int) -> None:
    answer = await exchange(
        port, b"POST /echo HTTP/1.1\r\nContent-Length: 1001\r\nConnection: close\r\n\r\n" + b"x" * 1001
    )
    assert answer.startswith(b"HTTP/1.1 413")


async def test_a_body_far_over_the_limit_is_refused_with_413_before_all_of_it_was_read(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /echo HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n" + b"x" * 8001)
    assert (await reader.read()).startswith(b"HTTP/1.1 413")
    writer.close()
    await writer.wait_closed()


async def test_a_stream_that_fails_breaks_the_connection_instead_of_leaving_the_client_waiting(
    port: int,
) -> None:
    with contextlib.suppress(ConnectionResetError):
        answer = await asyncio.wait_for(exchange(port, b"GET /broken-stream HTTP/1.1\r\n\r\n"), 5)
        assert not answer.endswith(b"0\r\n\r\n")


async def test_a_head_request_for_a_stream_gets_no_body_and_leaves_the_connection_usable(port: int) -> None:
    answer = await exchange(
        port,
        b"HEAD /stream HTTP/1.1\r\n\r\n"
        b"POST /echo HTTP/1.1\r\nContent-Length: 1\r\nConnection: close\r\n\r\nb",
    )
    assert b"0\n" not in answer
    assert answer.endswith(b"\r\n\r\nb")


async def test_a_client_of_http_1_0_gets_a_stream_without_chunks(port: int) -> None:
    answer = await exchange(port, b"GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert answer.endswith(b"\r\n\r\n0\n1\n2\n")


@pytest.mark.parametrize("endless", [b"GET /", b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\nX: y\r\n"])
async def test_a_head_without_end_is_refused_with_431_and_not_kept(port: int, endless: bytes) -> None:
    filler = b"x: y\r\n" if endless.endswith(b"\n") else b"xxxxxx"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(endless + filler * (2 * MAX_HEAD_BYTES // len(filler)))
    with contextlib.suppress(ConnectionResetError):
        assert (await reader.read()).startswith(b"HTTP/1.1 431")
    writer.close()
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        await writer.wait_closed()


async def test_garbage_is_refused_with_400(port: int) -> None:
    assert (await exchange(port, b"GET / HTTP/1.1\r\nno colon\r\n\r\n")).startswith(b"HTTP/1.1 400")
    assert (await exchange(port, b"\x00\x01garbage\r\n\r\n")).startswith(b"HTTP/1.1 4")


async def test_a_method_that_is_none_is_refused_with_405(port: int) -> None:
    assert (await exchange(port, b"FROB / HTTP/1.1\r\nHost: x\r\n\r\n")).startswith(b"HTTP/1.1 405")


async def test_an_unforeseen_error_is_a_500_and_the_server_goes_on(port: int) -> None:
    assert (await exchange(port, b"GET /fail HTTP/1.1\r\nConnection: close\r\n\r\n")).startswith(
        b"HTTP/1.1 500"
    )
    assert (await exchange(port, b"GET /query?a=1&a=2&b HTTP/1.1\r\nConnection: close\r\n\r\n")).endswith(
        b"{'a': '1', 'b': ''}"
    )


async def test_an_upgrade_hands_over_the_connection_with_what_was_already_sent(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /upgrade HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\nhello ")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 Switching Protocols")
    assert await reader.readexactly(6) == b"HELLO "
    writer.write(b"world")
    assert await reader.readexactly(5) == b"WORLD"
    writer.close()
    await writer.wait_closed()


async def test_an_upgrade_that_is_declined_leaves_an_ordinary_connection(port: int) -> None:
    answer = await exchange(
        port,
        b"GET /echo HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
        b"GET /query HTTP/1.1\r\nConnection: close\r\n\r\n",
    )
    assert answer.count(b"HTTP/1.1 200") == 2


async def test_what_comes_in_pieces_after_a_declined_upgrade_is_not_lost(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in (
        b"CONNECT /echo HTTP/1.1\r\n\r\n",
        b"GET /query?a=1 HT",
        b"TP/1.1\r\nConnection: close\r\n\r\n",
    ):
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    assert (await reader.read()).endswith(b"{'a': '1'}")
    writer.close()
    await writer.wait_closed()


async def test_stopping_ends_connections_as_soon_as_their_streams_have_ended() -> None:
    last = asyncio.Event()

    async def count_until_told(request: Request) -> Stream:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"first"
            await last.wait()
            yield b"last"

        return Stream(chunks())

    server = HttpServer(count_until_told)
    port = await server.listen("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    await reader.readuntil(b"first\r\n")
    stopping = asyncio.create_task(server.stop(patience=60))
    await asyncio.sleep(0)
    last.set()
    assert (await asyncio.wait_for(reader.read(), 5)).endswith(b"last\r\n0\r\n\r\n")
    await asyncio.wait_for(stopping, 5)
    writer.close()
    await writer.wait_closed()


async def test_a_client_that_leaves_cancels_what_was_being_answered() -> None:
    cancelled = asyncio.Event()
    entered = asyncio.Event()

    async def waits(request: Request) -> Response:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return Response()

    server = HttpServer(waits)
    port = await server.listen("127.0.0.1", 0)
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    await entered.wait()
    writer.close()
    await asyncio.wait_for(cancelled.wait(), 5)
    await server.stop(0.1)
