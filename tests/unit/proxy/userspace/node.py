"""A node in userspace mode on a fake kernel, with a relay in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairway.kernel.conntrack import FakeConntrack
from fairway.kernel.fake_nftables import FakeNftables
from fairway.kernel.local_delivery import FakeLocalDelivery
from fairway.proxy.changes import Tracker
from fairway.proxy.nftables.applier import Applier as Rules
from fairway.proxy.nftables.applier import Kernel
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from fairway.proxy.userspace.applier import Applier
from fairway.proxy.userspace.messages import Bound, Counted, Listener
from fairway.proxy.userspace.ports import place
from fairway.proxy.userspace.ruleset import LAYOUT

SETTINGS = Settings(service_ranges=("10.96.0.0/16",))


class FakeRelays:
    """Gives out ports in order; remembers what is served."""

    def __init__(self) -> None:
        self.alive = False
        self.served: dict[str, tuple[Listener, Bound]] = {}
        self.fails = False
        self.carried: list[Counted] = []
        self._opened = 0

    def connect(self) -> None:
        self.alive = True

    def serve(self, listeners: Sequence[Listener]) -> list[Bound]:
        for listener in listeners:
            bound = self.served[listener.key][1] if listener.key in self.served else self._open(listener)
            self.served[listener.key] = (listener, Bound("", 0) if self.fails else bound)
        return [self.served[listener.key][1] for listener in listeners]

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            del self.served[key]

    def keep_only(self, keys: Iterable[str]) -> None:
        wanted = set(keys)
        self.served = {key: entry for key, entry in self.served.items() if key in wanted}

    def counted(self) -> Sequence[Counted]:
        return self.carried

    def is_alive(self) -> bool:
        return self.alive

    def end(self) -> None:
        self.alive = False
        self.served = {}

    def close(self) -> None:
        return None

    def _open(self, listener: Listener) -> Bound:
        self._opened += 1
        return place(self._opened - 1, listener.six)


class Node:
    def __init__(
        self,
        settings: Settings = SETTINGS,
        name: str = "n1",
        own: frozenset[str] = frozenset(),
        tracker: Tracker | None = None,
    ) -> None:
        self.nft, self.relays, self.delivery = FakeNftables(), FakeRelays(), FakeLocalDelivery()
        self.name, self.own = name, own
        self.tracker = tracker or Tracker(Place(name))
        self.applier = self.new_process(settings)

    def new_process(self, settings: Settings = SETTINGS) -> Applier:
        kernel = Kernel(self.nft, FakeConntrack(), lambda: self.own)
        rules = Rules(kernel, settings, self.name, LAYOUT)
        return Applier(rules, self.relays, self.delivery, lambda: self.own)

    def apply(self) -> None:
        self.applier.apply(self.tracker.take())
