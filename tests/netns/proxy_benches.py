"""Nodes without a network around them, to try proxy modes on with the real kernel and random histories."""

from __future__ import annotations

import contextlib
import difflib
import pprint
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fairway.kernel import namespaces
from fairway.proxy import modes
from fairway.proxy.changes import Tracker
from fairway.proxy.programming import Changes, Mode
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from tests.behaviour.histories import History, Step

from .behaviour.kernel_state import state
from .topology import Namespace

T = TypeVar("T")
SETTINGS = Settings(
    cluster_cidrs=("10.244.0.0/16", "fd00:244::/32"),
    service_ranges=("10.96.0.0/16", "fd00:96::/112"),
    node_ips=("172.30.96.11", "fd00:30::11"),
)


class Bench:
    """A node for trying a mode on: nothing but a namespace, and a thread that lives in it."""

    def __init__(self, label: str) -> None:
        self.namespace = Namespace(label)
        self.namespace.ip(
            "link add eth0 type veth peer name eth1",
            "addr add 172.30.96.11/24 dev eth0",
            "addr add fd00:30::11/64 dev eth0 nodad",
            "link set eth0 up",
            "link set eth1 up",
        )
        self._worker = ThreadPoolExecutor(1, label, namespaces.enter_path, (self.namespace.path,))

    def run(self, work: Callable[[], T]) -> T:
        return self._worker.submit(work).result()

    @contextlib.contextmanager
    def opened(self, mode: str) -> Iterator[Mode[Settings]]:
        with contextlib.ExitStack() as stack:
            made = self.run(lambda: stack.enter_context(modes.opened(mode, SETTINGS, "n1")))
            try:
                yield made
            finally:
                self.run(stack.close)

    def synchronise_anew(self, mode: str, changes: Changes) -> None:
        """As a proxy does that has just been started, over whatever an earlier one has left."""
        with self.opened(mode) as fresh:
            self.run(lambda: fresh.synchronise(changes))

    def close(self) -> None:
        self._worker.shutdown()
        self.namespace.close()


def assert_steps_lead_where_a_fresh_start_leads(
    mode: str, benches: tuple[Bench, Bench], beginning: list[Step], history: list[Step]
) -> None:
    steps, fresh = benches
    place = Place("n1", "east")
    tracker, everything = Tracker(place), Tracker(place)
    told = History(tracker, everything)
    for step in beginning:
        told.take(step)
    with steps.opened(mode) as stepping:
        steps.run(lambda: stepping.synchronise(tracker.take()))
        for step in history:
            told.take(step)
            changes = tracker.take()
            steps.run(lambda changes=changes: stepping.apply(changes))  # type: ignore[misc]
            assert steps.run(stepping.is_intact)
            everything.all_changed()
            fresh.synchronise_anew(mode, everything.take())
            found, wanted = state(mode, steps.namespace), state(mode, fresh.namespace)
            assert found == wanted, _difference(found, wanted)
        steps.run(stepping.remove)


def _difference(found: object, wanted: object) -> str:
    ours, fresh = (pprint.pformat(each, width=200).splitlines() for each in (found, wanted))
    return "\n".join(difflib.unified_diff(ours, fresh, "step by step", "fresh", n=2, lineterm=""))
