"""Who is next: exact round robin among the backends of one listener, and clients that stay with theirs.

Pure; the clock is passed in.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from fairway.proxy.userspace.messages import Backend

Clock = Callable[[], float]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Balancer:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._backends: tuple[Backend, ...] = ()
        self._next = 0
        self._affinity_seconds = 0
        self._inside: tuple[Network, ...] = ()
        # Client -> its backend and when it came last.
        self._clients: dict[str, tuple[Backend, float]] = {}

    def __contains__(self, backend: Backend) -> bool:
        return backend in self._backends

    def __len__(self) -> int:
        return len(self._backends)

    @property
    def clients(self) -> int:
        """How many are remembered."""
        return len(self._clients)

    def update(
        self, backends: tuple[Backend, ...], affinity_seconds: int = 0, inside: tuple[str, ...] = ()
    ) -> None:
        """The turn goes on after the backend that was served last, if that is still there."""
        if self._backends and self._next:
            last = self._backends[(self._next - 1) % len(self._backends)]
            self._next = backends.index(last) + 1 if last in backends else self._next % max(len(backends), 1)
        self._backends, self._affinity_seconds = backends, affinity_seconds
        self._inside = tuple(ipaddress.ip_network(text) for text in inside)
        if not affinity_seconds:
            self._clients.clear()
        elif self._clients:
            self._clients = {c: entry for c, entry in self._clients.items() if entry[0] in backends}

    def choose(self, client: str) -> Backend | None:
        """For a new connection; None if there is no backend at all."""
        if not self._affinity_seconds:
            return self._turn()
        now = self._clock()
        known = self._clients.get(client)
        if known is not None and now - known[1] < self._affinity_seconds:
            chosen: Backend | None = known[0]
        else:
            chosen = self._turn()
        if chosen is not None:
            self._clients[client] = (chosen, now)
        return chosen

    def choose_again(self, client: str) -> Backend | None:
        """After a backend didn't answer: the next one, which a client with affinity then stays with."""
        self.release(client)
        return self.choose(client)

    def release(self, client: str) -> None:
        """Its backend refuses; it needn't go back there."""
        self._clients.pop(client, None)

    def shows(self, client: str, backend: Backend) -> bool:
        """Whether the backend sees the client's own address. One that reaches itself must not see its own."""
        if not backend.transparent or client == backend.address:
            return False
        address = ipaddress.ip_address(client)
        return not any(address in network for network in self._inside)

    def forget_expired(self) -> None:
        oldest = self._clock() - self._affinity_seconds
        if any(entry[1] <= oldest for entry in self._clients.values()):
            self._clients = {c: entry for c, entry in self._clients.items() if entry[1] > oldest}

    def _turn(self) -> Backend | None:
        if not self._backends:
            return None
        index = self._next % len(self._backends)
        self._next = index + 1
        return self._backends[index]
