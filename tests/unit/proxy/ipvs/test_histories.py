"""Whatever happens to Services, step by step ipvs mode gets to where a fresh start would have brought it.

But for real servers that are being drained: which those must be is told here from what was in the kernel and
who was connected, without asking the code that decides it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.kernel.ipvs import ServerName, Target, VirtualServer
from fairway.proxy.changes import Tracker
from fairway.proxy.ipvs import orders
from fairway.proxy.ipvs.draining import LONGEST
from fairway.proxy.ipvs.frontends import Server, Surroundings
from fairway.proxy.ipvs.plan import Planner
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from tests.behaviour.histories import History, Step, beginnings, histories

from .kernel_state import drained, state
from .node import Node

SETTINGS = Settings(
    cluster_cidrs=("10.244.0.0/16", "fd00:244::/32"),
    service_ranges=("10.96.0.0/16", "fd00:96::/112"),
    node_ips=("172.30.96.11", "fd00:30::11"),
)
OWN = frozenset({"127.0.0.1", "::1", *SETTINGS.node_ips})
PLACE = Place("n1", "east")
Planned = Mapping[ServerName, Server]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What goes on around a step: Pods (by the last number of their address) that have clients, a proxy that
    starts anew rather than hearing of the change, the time until the next step, and whether the proxy looks
    after its kernel in that time.
    """

    busy: frozenset[int]
    restarts: bool
    seconds: float
    looks: bool


CIRCUMSTANCES = st.builds(
    Circumstances,
    st.frozensets(st.integers(2, 6)),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([0.0, 0.0, LONGEST / 2, LONGEST]),
    st.sampled_from([True, True, False]),
)


class Leaving:
    """Real servers that aren't wanted any more and still have clients, with the time they are given."""

    def __init__(self) -> None:
        self._until: dict[tuple[ServerName, Target], float] = {}

    def step(
        self, held: Mapping[ServerName, VirtualServer], before: Planned, after: Planned, now: float
    ) -> None:
        """A virtual server that goes takes its real servers with it; nobody waits for datagrams."""
        self._until = {
            (name, target): self._until.get((name, target), now + LONGEST)
            for name, server in held.items()
            if name in after
            for target, load in server.targets.items()
            if target not in orders.targets_of(after[name]) and load.active
            if (name, target) in self._until or (_waits(name, before) and _waits(name, after))
        }

    def start_anew(self) -> None:
        """A new process doesn't know since when."""
        self._until = {}

    def at(self, now: float) -> set[tuple[ServerName, Target]]:
        self._until = {key: until for key, until in self._until.items() if now < until}
        return set(self._until)


class Stepping:
    """A node that hears of one change after the other, beside one plan that hears the same."""

    def __init__(self, tracker: Tracker) -> None:
        self.node = Node(SETTINGS, "n1", OWN, tracker)
        self.leaving = Leaving()
        self._plan_anew()

    def take(self, around: Circumstances) -> None:
        self._connect(around.busy)
        held, before, node = self.node.ipvs.held(), self._planned(), self.node
        if around.restarts:
            self.leaving.start_anew()
            before = {}
            node.start(SETTINGS)
            self._plan_anew()
        else:
            node.apply()
            self._planner.update(node.told)
        self.leaving.step(held, before, self._planned(), node.now)
        node.now += around.seconds

    def _connect(self, busy: Collection[int]) -> None:
        """Real servers that are being drained only lose clients."""
        for name, server in self.node.ipvs.held().items():
            for target, load in server.targets.items():
                stays = _number(target) in busy and (load.weight or load.active)
                self.node.ipvs.connect(name, target, active=1 if stays else 0)

    def _plan_anew(self) -> None:
        self._planner = Planner(Surroundings(SETTINGS, "n1", OWN))
        self._planner.update(self.node.told)

    def _planned(self) -> Planned:
        """Those without real servers, too, which aren't in the kernel."""
        return {orders.name_of(frontend): server for frontend, server in self._planner.servers().items()}


def _waits(name: ServerName, planned: Planned) -> bool:
    return name not in planned or planned[name].graceful


def _number(target: Target) -> int:
    return int(re.split("[.:]", target.address)[-1])


@settings(max_examples=200, deadline=None)
@given(
    beginning=beginnings(),
    history=histories(longest=10),
    circumstances=st.lists(CIRCUMSTANCES, min_size=10, max_size=10),
)
def test_step_by_step_leads_where_a_fresh_start_leads(
    beginning: list[Step], history: list[Step], circumstances: list[Circumstances]
) -> None:
    tracker, everything = Tracker(PLACE), Tracker(PLACE)
    told = History(tracker, everything)
    for step in beginning:
        told.take(step)
    stepping = Stepping(tracker)
    for step, around in zip(history, circumstances, strict=False):
        told.take(step)
        stepping.take(around)
        if not around.looks:
            continue
        assert stepping.node.is_intact()
        leaving = stepping.leaving.at(stepping.node.now)
        assert drained(stepping.node) == leaving
        fresh = Node(SETTINGS, "n1", OWN, everything)
        assert state(stepping.node, leaving) == state(fresh)
