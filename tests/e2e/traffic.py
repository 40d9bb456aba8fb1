"""Steady traffic to one address while a test does things: who answered, and every request that failed."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from types import TracebackType

PAUSE = 0.01
# Longer than a lost packet's first repetitions take, far shorter than a connection that hangs.
PATIENCE = 10.0


class Traffic:
    """Each request is a connection of its own, as those that keep theirs would not notice a wrong turn."""

    def __init__(self, address: str, port: int = 80, clients: int = 4) -> None:
        self._target = (address, port)
        self._clients = [threading.Thread(target=self._ask, daemon=True) for _ in range(clients)]
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []

    def __enter__(self) -> Traffic:
        for client in self._clients:
            client.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for client in self._clients:
            client.join()

    @property
    def total(self) -> int:
        return sum(self.answers.values())

    def flows(self, requests: int = 50) -> None:
        """Until that many more requests were answered: whatever a test did last has been under traffic."""
        goal, deadline = self.total + requests, time.monotonic() + 60
        while self.total < goal:
            assert time.monotonic() < deadline, f"{self.total} answers, {len(self.failures)} failures"
            time.sleep(0.02)

    def _ask(self) -> None:
        while not self._over.is_set():
            began = time.time()
            try:
                answer = self._answer()
            except OSError as error:
                with self._lock:
                    self.failures.append(f"{began:.3f} +{time.time() - began:.3f} s: {error!r}")
            else:
                with self._lock:
                    self.answers[answer] += 1
            time.sleep(PAUSE)

    def _answer(self) -> str:
        with socket.create_connection(self._target, PATIENCE) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            received = b"".join(iter(lambda: connection.recv(4096), b""))
        head, _, body = received.partition(b"\r\n\r\n")
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise ConnectionError(f"answered {received[:80]!r}")
        return body.decode().strip()
