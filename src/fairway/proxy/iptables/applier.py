"""Brings plans into the kernel, and notices when someone else has changed our chains.

Thin and blocking: the planner decides, this runs. All calls come from one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import structlog

from fairway.kernel.conntrack import Conntrack
from fairway.kernel.counters import Counters
from fairway.kernel.iptables import Iptables
from fairway.metrics import Figure
from fairway.proxy.changes import PortState
from fairway.proxy.flow_cleaning import FlowCleaner
from fairway.proxy.flow_counting import FlowCounter
from fairway.proxy.iptables.comparison import differing
from fairway.proxy.iptables.counting import ConnectionCounts
from fairway.proxy.iptables.describe import describe
from fairway.proxy.iptables.plan import Planner
from fairway.proxy.iptables.restore import difference_text, everything_text, removal_text
from fairway.proxy.iptables.saved import Saved, is_ours, parse
from fairway.proxy.iptables.style import Host, Style
from fairway.proxy.model import Family
from fairway.proxy.service_counts import Count
from fairway.proxy.settings import Settings

log = structlog.get_logger()

_UNKNOWN = -1
# Looking at everything may take this part of all time; with 10,000 Services one look takes a second.
_SHARE = 20
_LIBERAL, _LOCALNET = "net/netfilter/nf_conntrack_tcp_be_liberal", "net/ipv4/conf/all/route_localnet"


@dataclass(frozen=True, slots=True)
class Kernel:
    """What of the host this mode touches."""

    iptables: Iptables
    conntrack: Conntrack
    local_addresses: Callable[[], Collection[str]]
    read_sysctl: Callable[[str], str]
    write_sysctl: Callable[[str, str], object]
    counters: Counters | None = None


class Applier:
    def __init__(
        self, kernel: Kernel, settings: Settings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kernel, self._clock = kernel, clock
        self._flows = FlowCleaner(kernel.conntrack, kernel.local_addresses)
        self._connections = FlowCounter(kernel.conntrack, kernel.local_addresses).count
        self._counts = ConnectionCounts(kernel.counters) if kernel.counters else None
        self._planner = Planner(settings, Host())
        self._settings = settings
        # The generation that our last transaction made.
        self._generation = _UNKNOWN
        # Whether this iptables words rules as we do; not known before the first look.
        self._worded: bool | None = None
        self._next_look = 0.0

    @property
    def settings(self) -> Settings:
        return self._settings

    def configure(self, settings: Settings) -> None:
        """Takes effect with the next `synchronise`."""
        self._settings = settings

    def apply(self, changes: Mapping[str, tuple[PortState, ...]]) -> list[str]:
        """Send only what differs; returns the texts. After an exception the kernel must be synchronised."""
        update = self._planner.update(changes)
        texts = {family: difference_text(d) for family, d in update.differences.items() if d}
        self._restore(texts, self._generation)
        self._flows.clean(update.udp)
        return list(texts.values())

    def synchronise(self, changes: Mapping[str, tuple[PortState, ...]]) -> list[str]:
        """Bring everything in order, from whatever the kernel holds."""
        states = self._planner.states() | dict(changes)
        self._allow_localhost()
        self._planner = Planner(self._settings, self._host())
        self._planner.update(states)
        before = self._kernel.iptables.generation()
        texts = {family: everything_text(self._planner, family, self._saved(family)) for family in Family}
        self._restore(texts, before)
        if self._worded is None:
            self._worded = not self._difference()
        self._flows.clean(self._planner.udp_expectations(), self._settings.service_ranges)
        return list(texts.values())

    def is_intact(self) -> bool:
        """Whether all is still as we left it. Costs one question as long as nobody commits."""
        if self._host() != self._planner.host:
            return False
        generation, began = self._kernel.iptables.generation(), self._clock()
        if generation == self._generation or began < self._next_look:
            return True
        difference = self._difference(self._worded is not False)
        self._next_look = self._clock() + _SHARE * (self._clock() - began)
        if difference:
            log.info("not as planned", what=difference)
            self._next_look = 0.0
            return False
        self._generation = generation
        return True

    def describe(self, service: str) -> str:
        """The rules of a Service, and the connections that use it right now."""
        ports = self._planner.port_plans(service)
        return describe(service, ports, self._planner.settings.classic, self._connections)

    def figures(self) -> Iterator[Figure]:
        return self._flows.figures()

    def count_services(self) -> Count:
        return self._counts.count(self._planner.plans()) if self._counts else tuple

    def remove(self) -> None:
        """Leave nothing behind, but what the kubelet has made or others' rules jump to."""
        iptables = self._kernel.iptables
        for version in (family.version for family in Family):
            chains = iptables.chains(version)
            if any(is_ours((table, name)) for table, known in chains.items() for name in known):
                iptables.restore(version, removal_text(parse(iptables.save(version))))
        self._generation = _UNKNOWN

    def _restore(self, texts: Mapping[Family, str], before: int) -> None:
        """`before` is the generation that the texts lead on from."""
        iptables = self._kernel.iptables
        self._generation = _UNKNOWN
        for family, text in texts.items():
            if text:
                iptables.restore(family.version, text)
        # Any more than ours, and someone else has been there, too.
        commits = sum(text.count("COMMIT\n") for text in texts.values())
        if iptables.generation() == before + commits:
            self._generation = before + commits

    def _difference(self, worded: bool = True) -> str:
        for family in Family:
            found = differing(self._planner, family, self._saved(family), worded)
            if found:
                return f"{found} ({family})"
        return ""

    def _saved(self, family: Family) -> Saved:
        return parse(self._kernel.iptables.save(family.version))

    def _host(self) -> Host:
        addresses = self._kernel.local_addresses() if self._settings.nodeport_addresses else ()
        return Host(frozenset(addresses), self._is_liberal())

    def _is_liberal(self) -> bool:
        try:
            return self._kernel.read_sysctl(_LIBERAL) != "0"
        except OSError:  # connection tracking is not loaded yet, and then it has its defaults
            return False

    def _allow_localhost(self) -> None:
        """The kernel routes nothing from or to 127.0.0.1 that was translated, unless it is told to."""
        if Style(Family.IPV4, self._settings).nodeports_on_localhost:
            self._kernel.write_sysctl(_LOCALNET, "1")
