"""Datagrams by the batch, over real sockets on loopback."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from fairway.kernel.datagrams import SEATS, SLOT, DatagramBatch


@contextlib.contextmanager
def listening(family: int, host: str) -> Iterator[socket.socket]:
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.bind((host, 0))
        sock.setblocking(False)
        yield sock


def clients(count: int, family: int, to: tuple[str, int]) -> list[socket.socket]:
    found = []
    for _ in range(count):
        client = socket.socket(family, socket.SOCK_DGRAM)
        client.settimeout(5)
        client.connect(to)
        found.append(client)
    return found


@pytest.mark.parametrize(
    ("family", "host", "asked"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET, "0.0.0.0", "127.0.0.9"),
        (socket.AF_INET6, "::1", "::1"),
        (socket.AF_INET6, "::", "::1"),
    ],
)
def test_every_client_gets_its_own_answer_from_the_address_it_asked(
    family: int, host: str, asked: str
) -> None:
    with listening(family, host) as sock:
        batch = DatagramBatch(sock, wildcard=host in ("0.0.0.0", "::"))
        assert batch.receive() == 0
        # Connected sockets take answers from the address they asked, and from no other.
        asking = clients(10, family, (asked, sock.getsockname()[1]))
        for number, client in enumerate(asking):
            client.send(b"question %d" % number * (number + 1))
        count = batch.receive()
        assert count == 10
        came = [batch.received[seat * SLOT : seat * SLOT + batch.sizes[seat]] for seat in range(count)]
        assert [batch.address(seat)[:2] for seat in range(count)] == [c.getsockname()[:2] for c in asking]
        batch.send([(seat, b"answer to " + came[seat]) for seat in range(count) if seat != 3])
        for number, client in enumerate(asking):
            if number != 3:
                assert client.recv(4096) == b"answer to " + b"question %d" % number * (number + 1)
        sock.sendmsg([b"late"], batch.control(3), 0, batch.address(3))
        assert asking[3].recv(100) == b"late"
        for client in asking:
            client.close()


def test_large_answers_and_more_than_a_batch_arrive() -> None:
    with listening(socket.AF_INET, "127.0.0.1") as sock:
        batch = DatagramBatch(sock, wildcard=False)
        (client,) = clients(1, socket.AF_INET, sock.getsockname())
        for number in range(SEATS + 1):
            client.send(b"%d" % number)
        assert batch.receive() == SEATS
        assert batch.receive() == 1
        batch.send([(0, b"x" * 20_000)])
        assert len(client.recv(65535)) == 20_000
        client.close()


def test_an_answer_nobody_takes_does_not_hold_up_the_others() -> None:
    with listening(socket.AF_INET, "127.0.0.1") as sock:
        batch = DatagramBatch(sock, wildcard=False)
        gone, stays = clients(2, socket.AF_INET, sock.getsockname())
        gone.send(b"a")
        stays.send(b"b")
        assert batch.receive() == 2
        gone.close()
        batch.send([(0, b"nobody"), (1, b"you")])
        assert stays.recv(10) == b"you"
        with contextlib.suppress(OSError):
            batch.receive()
        stays.send(b"again")
        assert batch.receive() == 1
        stays.close()
