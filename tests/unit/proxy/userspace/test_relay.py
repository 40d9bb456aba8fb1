"""The relay's loop, streams and connections on sockets of this process; nothing waits for the clock."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator

import pytest

from fairway.proxy.userspace import messages
from fairway.proxy.userspace.balancer import Balancer
from fairway.proxy.userspace.loop import Loop
from fairway.proxy.userspace.messages import (
    Backend,
    Bound,
    Count,
    Counted,
    Forget,
    Frames,
    Listener,
    Opened,
    Serve,
)
from fairway.proxy.userspace.ports import FIRST, LAST, place
from fairway.proxy.userspace.relay import Relay
from fairway.proxy.userspace.tcp import PATIENCE, Shared, TcpListener
from fairway.proxy.userspace.udp import IDLE_SECONDS, UdpListener


class Bench:
    """A TCP listener of the relay on the loopback, with backends of this process."""

    def __init__(self) -> None:
        self.loop, self.shared, self.balancer = Loop(), Shared(), Balancer(time.monotonic)
        listening = socket.create_server(("127.0.0.1", 0))
        listening.setblocking(False)
        self.address = listening.getsockname()
        self.listener = TcpListener(self.loop, listening, self.balancer, self.shared)
        self.opened: list[socket.socket] = [listening]

    def backend(self) -> tuple[socket.socket, Backend]:
        server = socket.create_server(("127.0.0.1", 0))
        server.settimeout(0)
        self.opened.append(server)
        return server, Backend(*server.getsockname())

    def dead_backend(self) -> Backend:
        """A port that refuses: bound by us, but not listened on."""
        bound = socket.socket()
        bound.bind(("127.0.0.1", 0))
        self.opened.append(bound)
        return Backend(*bound.getsockname())

    def connect(self) -> socket.socket:
        client = socket.create_connection(self.address, timeout=0.001)
        self.opened.append(client)
        return client

    def accept(self, server: socket.socket) -> socket.socket:
        connection = self.until(server.accept)[0]
        connection.settimeout(0.001)
        self.opened.append(connection)
        return connection

    def until(self, attempt):  # type: ignore[no-untyped-def]
        """Turns of the loop until an attempt no longer would block."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            self.loop.turn(0.001)
            try:
                return attempt()
            except (BlockingIOError, TimeoutError):
                continue
        raise AssertionError("nothing came")

    def close(self) -> None:
        for opened in self.opened:
            opened.close()
        for _ in range(3):
            self.loop.turn(0.001)
        self.loop.close()


def carried(listener: TcpListener | UdpListener) -> tuple[int, int, int]:
    tally = listener.tally
    return tally.connections, tally.received.size, tally.sent.size


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


def test_bytes_go_both_ways_and_each_side_ends_by_itself(bench: Bench) -> None:
    server, backend = bench.backend()
    bench.balancer.update((backend,))
    client = bench.connect()
    connection = bench.accept(server)
    client.sendall(b"question")
    client.shutdown(socket.SHUT_WR)
    assert bench.until(lambda: connection.recv(100)) == b"question"
    assert bench.until(lambda: connection.recv(100)) == b""
    connection.sendall(b"answer")
    assert bench.until(lambda: client.recv(100)) == b"answer"
    connection.close()
    assert bench.until(lambda: client.recv(100)) == b""
    bench.loop.turn(0.001)
    assert bench.shared.counters.open == 0
    assert carried(bench.listener) == (1, len(b"question"), len(b"answer"))


def test_a_reader_that_is_slow_gets_everything(bench: Bench) -> None:
    """More than all buffers hold, so the relay must wait for the reader, by copy and then by splice."""
    server, backend = bench.backend()
    bench.balancer.update((backend,))
    client = bench.connect()
    connection = bench.accept(server)
    data = bytes(range(256)) * (1 << 16)
    sent, received, stalls = 0, bytearray(), 0
    while len(received) < len(data):
        try:
            sent += client.send(data[sent : sent + (1 << 18)]) if sent < len(data) else 0
        except TimeoutError:
            stalls += 1
        bench.loop.turn(0)
        if stalls > 2 or sent == len(data):
            received += bench.until(lambda: connection.recv(1 << 16))
    assert received == data
    assert stalls > 2
    assert carried(bench.listener) == (1, len(data), 0)


def test_a_backend_that_refuses_is_passed_over(bench: Bench) -> None:
    server, backend = bench.backend()
    bench.balancer.update((bench.dead_backend(), bench.dead_backend(), backend))
    bench.connect()
    bench.accept(server)
    assert bench.shared.counters.retried == 2
    assert bench.shared.counters.failed == 0


def test_when_all_refuse_the_client_is_reset_after_a_few_attempts(bench: Bench) -> None:
    bench.balancer.update((bench.dead_backend(),))
    client = bench.connect()
    with pytest.raises(ConnectionResetError):
        bench.until(lambda: client.recv(1))
    assert bench.shared.counters.retried == len(PATIENCE) - 1
    assert bench.shared.counters.failed == 1
    assert bench.shared.counters.open == 0


def test_a_reset_of_one_side_is_a_reset_of_the_other(bench: Bench) -> None:
    server, backend = bench.backend()
    bench.balancer.update((backend,))
    client = bench.connect()
    connection = bench.accept(server)
    client.sendall(b"x")
    bench.until(lambda: connection.recv(1))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    with pytest.raises(ConnectionResetError):
        bench.until(lambda: client.recv(1))


def test_a_reset_is_passed_on_after_a_half_close(bench: Bench) -> None:
    server, backend = bench.backend()
    bench.balancer.update((backend,))
    client = bench.connect()
    connection = bench.accept(server)
    client.shutdown(socket.SHUT_WR)
    assert bench.until(lambda: connection.recv(100)) == b""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()
    bench.until(lambda: broken(connection))


def test_a_closed_listener_leaves_its_connections_alone(bench: Bench) -> None:
    server, backend = bench.backend()
    bench.balancer.update((backend,))
    client = bench.connect()
    connection = bench.accept(server)
    bench.listener.close()
    bench.loop.turn(0)
    client.sendall(b"still here")
    assert bench.until(lambda: connection.recv(100)) == b"still here"


def broken(connection: socket.socket) -> None:
    """After the other side's end, reading tells nothing of a reset."""
    poll = select.poll()
    poll.register(connection, 0)
    if not any(events & select.POLLERR for _, events in poll.poll(0)):
        raise BlockingIOError


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_udp_client_keeps_its_backend_until_it_is_idle_or_the_backend_goes() -> None:
    clock, loop = Clock(), Loop()
    balancer = Balancer(clock)
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
    listening, client, *backends = sockets
    for opened in sockets:
        opened.bind(("127.0.0.1", 0))
        opened.settimeout(0)
    addresses = [Backend(*backend.getsockname()) for backend in backends]
    balancer.update(tuple(addresses))
    listener = UdpListener(loop, listening, balancer, clock)

    def goes_to() -> int:
        client.sendto(b"?", listening.getsockname())
        for _ in range(1000):
            loop.turn(0.001)
            for number, backend in enumerate(backends):
                try:
                    backend.recv(10)
                except BlockingIOError:
                    continue
                return number
        raise AssertionError("nothing came")

    assert [goes_to(), goes_to()] == [0, 0]
    clock.now += IDLE_SECONDS + 1
    listener.end_idle()
    assert listener.sessions == 0
    assert [goes_to(), goes_to()] == [1, 1]
    balancer.update((addresses[0],))
    listener.backends_changed()
    assert goes_to() == 0
    assert carried(listener) == (3, 5, 0), "each time that a backend is chosen, and every datagram"
    listener.close()
    loop.turn(0)
    loop.close()
    for opened in sockets:
        opened.close()


def test_timers_run_in_order_and_not_when_cancelled() -> None:
    loop, ran = Loop(), []
    loop.later(0, lambda: ran.append("first"))
    loop.later(0, lambda: ran.append("never")).cancel()
    loop.later(0, lambda: ran.append("second"))
    loop.later(0, loop.stop)
    loop.run()
    loop.close()
    assert ran == ["first", "second"]


def test_ports_begin_again_at_the_next_address() -> None:
    per_address = LAST - FIRST + 1
    assert place(0, six=False) == ("169.254.96.1", FIRST)
    assert place(per_address - 1, six=False) == ("169.254.96.1", LAST)
    assert place(per_address, six=False) == ("169.254.96.2", FIRST)
    assert place(per_address * 15, six=True) == ("fd00:fa17:a796::10", FIRST)


def test_messages_arrive_whole_however_they_are_cut() -> None:
    sent = [Serve((Listener("k", True, False, (Backend("10.0.0.1", 53),), 7),)), messages.Retire()]
    stream = b"".join(messages.frame(message) for message in sent)
    frames = Frames()
    received = [messages.request(body) for byte in stream for body in frames.feed(bytes([byte]))]
    assert received == sent
    assert messages.answer(messages.frame(Opened())[4:]) == Opened()


def test_an_error_of_our_own_costs_no_other_connection(bench: Bench) -> None:
    server, backend = bench.backend()
    bench.balancer.update((backend,))
    client = bench.connect()
    connection = bench.accept(server)
    mine, other = socket.socketpair()
    bench.opened += [mine, other]

    def fail(events: int = 0) -> None:
        raise ValueError("a mistake")

    bench.loop.add(mine, select.EPOLLIN, fail)
    bench.loop.later(0, fail)
    bench.loop.again(fail)
    other.send(b"x")
    client.sendall(b"carried")
    assert bench.until(lambda: connection.recv(100)) == b"carried"
    for _ in range(20):
        bench.loop.turn(0)
    assert bench.loop.errors == ["ValueError: a mistake"] * 3


class LoopbackPorts:
    """In place of the relay's own addresses, which only a node that is prepared for them has."""

    def open(self, six: bool, udp: bool) -> tuple[socket.socket, Bound]:
        opened = socket.create_server(("127.0.0.1", 0))
        opened.setblocking(False)
        return opened, Bound(*opened.getsockname())


def test_a_relay_tells_what_its_listeners_have_carried_those_that_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairway.proxy.userspace.relay.Ports", LoopbackPorts)
    loop = Loop()
    relay = Relay(loop)
    with socket.create_server(("127.0.0.1", 0)) as server:
        backends = (Backend(*server.getsockname()),)
        listeners = tuple(Listener(key, False, False, backends) for key in ("used", "idle"))
        used, _ = relay.handle(Serve(listeners)).bound
        with socket.create_connection(used) as client:
            client.sendall(b"12345")
            server.settimeout(0)
            while not (told := relay.handle(Count()).counted) or not told[0].received:
                loop.turn(0.001)
        assert told == (Counted("used", 1, 5, 0),)
    relay.handle(Forget(("used", "idle")))
    assert relay.handle(Count()).counted == ()
    loop.turn(0)
    loop.close()
