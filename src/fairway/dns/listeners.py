"""Sockets: UDP in one reader that empties the queue, TCP with pipelining. Bytes go to a `Responder` and
come back.

All on the event loop's one thread, so the zone's tables need no lock (ADR 020 has the measurements).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import structlog

from fairway.dns import wire
from fairway.dns.responder import Responder
from fairway.dns.zone.compiled import PLAIN
from fairway.kernel.datagrams import SLOT, Control, DatagramBatch, Source

log = structlog.get_logger()
_BUFFER = 4 << 20
_MAX_PENDING = 10_000
_IDLE = 10.0
_LAST_ANSWERS = 5.0
_LAST_CONNECTIONS = 30.0
_LOOK_EVERY = 0.05
_MAX_CONNECTIONS = 4096
_HIGH_WATER = 1 << 20

CurrentResponder = Callable[[], Responder]


class Sender(NamedTuple):
    """What of a datagram is needed to answer it once its seat is another's."""

    address: Any
    control: Control
    source: Source


class UdpListener:
    """One UDP socket. Plain questions for prebuilt answers cost one look-up between receiving and sending."""

    def __init__(self, sock: socket.socket, current: CurrentResponder) -> None:
        self._socket = sock
        self._current = current
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._family = 2 if sock.family == socket.AF_INET6 else 1
        self._batch = DatagramBatch(sock, wildcard=sock.getsockname()[0] in ("0.0.0.0", "::"))

    @property
    def socket(self) -> socket.socket:
        return self._socket

    def start(self) -> None:
        self._loop.add_reader(self._socket, self._drain)

    def pause(self) -> None:
        """Reads no more; what is being answered is answered."""
        self._loop.remove_reader(self._socket)

    async def finish(self) -> None:
        """Answers all that has arrived, and reads no more."""
        self.pause()
        while self._drain():
            continue
        await self.settle()

    async def settle(self) -> None:
        """Returns once nothing is being answered, within bounds."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=_LAST_ANSWERS)

    def _drain(self) -> int:
        """Answers what waits, at most a batch, before other work of the loop gets its turn."""
        batch, responder, begin = self._batch, self._current(), self._loop.time()
        try:
            count = batch.receive()
        except OSError as error:
            # An earlier answer was refused by its receiver.
            log.debug("udp", error=str(error))
            return 0
        lane, metrics = responder.lane, responder.metrics
        counts = metrics.lane(responder.where, self._family)
        prebuilt, kinds = responder.prebuilt.get, counts.udp
        received, sizes = batch.received, batch.sizes
        answers: list[tuple[int, bytes]] = []
        hits = 0
        for seat in range(count):
            at = seat * SLOT
            end = at + sizes[seat]
            hit = prebuilt(received[at + 12 : end])
            if hit is not None and received[at + 2 : at + 12] == PLAIN:
                hits += 1
                kinds[received[end - 3]] += 1
                body = hit if hit.__class__ is bytes else hit.pick()  # type: ignore[union-attr]
                answers.append((seat, received[at : at + 2] + body))
            else:
                data = received[at:end]
                answer = responder.again(data)
                if answer is None and lane and (answer := lane.answer_datagram(data)):
                    counts.count(data, answer)
                    if answer[3] & 15 == wire.NXDOMAIN:
                        metrics.denied[batch.source(seat)] += 1
                if answer is not None:
                    answers.append((seat, answer))
                else:
                    self._ask_chain(responder, data, seat)
        counts.rcodes[0] += hits
        if answers:
            batch.send(answers)
            metrics.took(responder.where, (self._loop.time() - begin) / len(answers), len(answers))
        if count:
            metrics.count_clients(batch.sources(count))
        return count

    def _ask_chain(self, responder: Responder, data: bytes, seat: int) -> None:
        if len(self._tasks) < _MAX_PENDING:
            sender = Sender(self._batch.address(seat), self._batch.control(seat), self._batch.source(seat))
            task = self._loop.create_task(self._respond(responder, data, sender))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _respond(self, responder: Responder, data: bytes, sender: Sender) -> None:
        answer = await responder.respond(data, sender.address[0], sender.address[1], tcp=False)
        if answer is not None:
            if answer[2] & wire.AA >> 8 and answer[3] & 15 == wire.NXDOMAIN:
                responder.metrics.denied[sender.source] += 1
            with contextlib.suppress(OSError):
                self._socket.sendmsg([answer], sender.control, 0, sender.address)

    def close(self) -> None:
        self.pause()
        for task in self._tasks:
            task.cancel()
        self._socket.close()


def bound_socket(host: str, port: int, kind: socket.SocketKind) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, kind)
    try:
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if kind == socket.SOCK_STREAM:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        sock.bind((host, port))
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


class TcpListener:
    """One listening TCP socket and its connections."""

    def __init__(self, sock: socket.socket, current: CurrentResponder) -> None:
        self.socket = sock
        self._current = current
        self._server: asyncio.Server | None = None
        self._connections: set[TcpConnection] = set()

    async def start(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(
            # The loop closes the socket it is given; ours may still have to be handed over.
            lambda: TcpConnection(self._current, self._connections),
            sock=self.socket.dup(),
            backlog=1024,
        )

    async def finish(self) -> None:
        """Takes no new connections; those there are end by themselves when idle, within bounds."""
        self._stop_listening()
        for _ in range(int(_LAST_CONNECTIONS / _LOOK_EVERY)):
            if not self._connections:
                return
            await asyncio.sleep(_LOOK_EVERY)

    def _stop_listening(self) -> None:
        if self._server:
            self._server.close()
            self._server = None

    def close(self) -> None:
        self._stop_listening()
        self.socket.close()
        for connection in list(self._connections):
            connection.close()


class TcpConnection(asyncio.Protocol):
    """Questions with a length before each; answered as they are ready, in whatever order (RFC 7766)."""

    def __init__(self, current: CurrentResponder, connections: set[TcpConnection]) -> None:
        self._current = current
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._tasks: set[asyncio.Task[None]] = set()
        self._transport: asyncio.Transport | None = None
        self._client: tuple[str, int] = ("", 0)
        self._last = self._loop.time()
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclass of asyncio's.
        self._transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(_HIGH_WATER)
        self._client = transport.get_extra_info("peername")[:2]
        self._connections.add(self)
        if len(self._connections) > _MAX_CONNECTIONS:
            transport.abort()
            return
        self._idle = self._loop.call_later(_IDLE, self._check_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        if self._idle:
            self._idle.cancel()
        for task in self._tasks:
            task.cancel()

    def pause_writing(self) -> None:
        # A client that asks but doesn't read must not make us hold ever more answers for it.
        if self._transport:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport:
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._last = self._loop.time()
        self._buffer += data
        while len(self._buffer) >= 2:
            size = self._buffer[0] << 8 | self._buffer[1]
            if len(self._buffer) < 2 + size:
                return
            message = bytes(self._buffer[2 : 2 + size])
            del self._buffer[: 2 + size]
            self._question(message)

    def _question(self, message: bytes) -> None:
        responder = self._current()
        lane = responder.lane
        answer = lane.answer(message, wire.MAX_MESSAGE) if lane else None
        if answer is not None:
            family = 2 if ":" in self._client[0] else 1
            responder.metrics.lane(responder.where, family).count(message, answer, tcp=True)
            responder.metrics.took(responder.where, 0.0)
            self._send(answer)
        elif len(message) < 12 or len(self._tasks) >= _MAX_PENDING:
            self.close()
        else:
            task = self._loop.create_task(self._respond(responder, message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _respond(self, responder: Responder, message: bytes) -> None:
        answer = await responder.respond(message, *self._client, tcp=True)
        if answer is None:
            self.close()
        else:
            self._send(answer)

    def _send(self, answer: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._last = self._loop.time()
            self._transport.write(len(answer).to_bytes(2, "big") + answer)

    def _check_idle(self) -> None:
        left = self._last + _IDLE - self._loop.time()
        if left <= 0 and not self._tasks:
            self.close()
        else:
            self._idle = self._loop.call_later(max(left, 0.1), self._check_idle)

    def close(self) -> None:
        if self._transport:
            self._transport.close()
