"""Both ends of the proxy benchmark's traffic, each run in a namespace and a process of its own.

Run with `python -m benchmarks.proxy_traffic`:

    serve NAME        a backend: who it is on one port, a sink on another
    times N A:P …     seconds that a connection takes, to each address in turn
    send S A:P        bytes a second that an address takes, over S seconds
    follow A:P        a line with the time whenever another backend answers
"""

from __future__ import annotations

import json
import socket
import statistics
import sys
import threading
import time

NAME_PORT, SINK_PORT = 9376, 9377
Address = tuple[str, int]


def serve(name: str) -> None:
    sink = socket.create_server(("", SINK_PORT), backlog=1024)
    threading.Thread(target=_sink, args=(sink,), daemon=True).start()
    listening = socket.create_server(("", NAME_PORT), backlog=1024)
    while True:
        connection, _ = listening.accept()
        connection.sendall(name.encode())
        connection.close()


def _sink(listening: socket.socket) -> None:
    buffer = bytearray(1 << 20)
    while True:
        connection, _ = listening.accept()
        total = 0
        while size := connection.recv_into(buffer):
            total += size
        connection.sendall(str(total).encode())
        connection.close()


def ask(address: Address) -> str:
    with socket.create_connection(address, timeout=5) as connection:
        return connection.recv(100).decode()


def times(rounds: int, addresses: list[Address]) -> list[float]:
    """The median for each address; they take turns, so that load from elsewhere hits all of them."""
    taken: list[list[float]] = [[] for _ in addresses]
    for _ in range(rounds):
        for address, mine in zip(addresses, taken, strict=True):
            begin = time.perf_counter()
            ask(address)
            mine.append(time.perf_counter() - begin)
    return [statistics.median(mine) for mine in taken]


def send(seconds: float, address: Address) -> float:
    data = bytes(1 << 20)
    begin = time.perf_counter()
    with socket.create_connection(address, timeout=30) as connection:
        while time.perf_counter() - begin < seconds:
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        total = int(connection.recv(100))
    return total / (time.perf_counter() - begin)


def follow(address: Address) -> None:
    last = ""
    while True:
        try:
            name = ask(address)
        except OSError:
            continue
        if name != last:
            last = name
            sys.stdout.write(f"{time.monotonic()} {name}\n")
            sys.stdout.flush()
        time.sleep(0.001)


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return host, int(port)


def main() -> None:
    match sys.argv[1:]:
        case ["serve", name]:
            serve(name)
        case ["times", rounds, *addresses]:
            sys.stdout.write(json.dumps(times(int(rounds), [_address(text) for text in addresses])))
        case ["send", seconds, address]:
            sys.stdout.write(json.dumps(send(float(seconds), _address(address))))
        case ["follow", address]:
            follow(_address(address))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
