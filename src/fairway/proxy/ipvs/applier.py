"""Brings plans into the kernel, and notices when someone else has changed what is there.

Thin and blocking: the planner decides, this runs. All calls come from one thread. The order of steps is such
that no client is refused in between: addresses and set members come before servers, and go after them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

import structlog

from fairway.kernel.conntrack import Conntrack
from fairway.kernel.dummy_device import DummyDevice
from fairway.kernel.ipvs import Ipvs
from fairway.metrics import Figure
from fairway.proxy.budget import Budget
from fairway.proxy.changes import PortState
from fairway.proxy.flow_cleaning import FlowCleaner
from fairway.proxy.flow_counting import FlowCounter
from fairway.proxy.ipvs.counting import ServerCounts
from fairway.proxy.ipvs.describe import describe
from fairway.proxy.ipvs.filtering import Filtering
from fairway.proxy.ipvs.frontends import Surroundings
from fairway.proxy.ipvs.plan import Difference, Planner
from fairway.proxy.ipvs.servers import Servers
from fairway.proxy.ipvs.sets import Member
from fairway.proxy.ipvs.tuning import Tuning
from fairway.proxy.service_counts import Count
from fairway.proxy.settings import Settings

log = structlog.get_logger()
DEVICE = "kube-ipvs0"


@dataclass(frozen=True, slots=True)
class Kernel:
    """What of the host this mode touches."""

    ipvs: Ipvs
    device: DummyDevice
    filtering: Filtering
    conntrack: Conntrack
    tuning: Tuning
    local_addresses: Callable[[], frozenset[str]]
    counting: Ipvs | None = None
    """Another way to the same servers, for the thread that counts."""


class Applier:
    def __init__(
        self, kernel: Kernel, settings: Settings, node: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kernel, self._clock = kernel, clock
        self._planner = Planner(Surroundings(settings, node))
        self._servers = Servers(kernel.ipvs, clock)
        self._counts = ServerCounts(kernel.counting) if kernel.counting else None
        self._cleaner = FlowCleaner(kernel.conntrack, lambda: self._planner.around.addresses)
        # Looking for others' changes takes at most these parts of the time, however many Services there are.
        self._quick, self._thorough = Budget(clock, 1 / 20), Budget(clock, 1 / 50)

    def describe(self, service: str) -> str:
        """What is programmed for a Service, and the connections that use it right now."""
        counter = FlowCounter(self._kernel.conntrack, lambda: self._planner.around.addresses)
        return describe(service, DEVICE, self._planner.of(service), counter.count)

    def figures(self) -> Iterator[Figure]:
        return self._cleaner.figures()

    def count_services(self) -> Count:
        return self._counts.count(self._planner.holders()) if self._counts else tuple

    @property
    def settings(self) -> Settings:
        return self._planner.around.settings

    def configure(self, settings: Settings) -> None:
        """Takes effect with the next `synchronise`."""
        self._replan(self._planner.around._replace(settings=settings), {})

    def apply(self, changes: Mapping[str, tuple[PortState, ...]]) -> Difference:
        """Send only what differs. After an exception the kernel must be synchronised."""
        difference = self._planner.update(changes)
        kernel = self._kernel
        kernel.filtering.change(difference.members_added, ())
        kernel.device.change((), difference.addresses_added)
        self._servers.change(difference.servers, self._planner)
        kernel.device.change(difference.addresses_deleted, ())
        kernel.filtering.change((), _really_deleted(difference))
        self._cleaner.clean(difference.udp)
        return difference

    def synchronise(self, changes: Mapping[str, tuple[PortState, ...]]) -> None:
        """Bring everything in order, from whatever the kernel holds."""
        kernel = self._kernel
        kernel.ipvs.require()
        kernel.tuning.apply(self.settings.strict_arp)
        kernel.device.create()
        self._replan(self._planner.around._replace(addresses=self._node_addresses()), changes)
        kernel.filtering.synchronise(self._planner.members(), self.settings)
        held, wanted = kernel.device.addresses(), self._planner.addresses()
        kernel.device.change((), wanted - held)
        self._servers.synchronise(self._planner)
        kernel.device.change(held - wanted, ())
        kernel.filtering.tidy(self._planner.members())
        self._cleaner.clean(self._planner.udp_expectations(), self.settings.service_ranges)

    def is_intact(self) -> bool:
        """Whether everything is still as we left it. Also lets go of real servers that have had their time,
        and follows the node's own addresses, as this is called every second or so.
        """
        if self._quick.allows():
            with self._quick.spending():
                moved = self._node_addresses() != self._planner.around.addresses
                if not moved and not self._is_all_there():
                    return False
            if moved:
                log.info("the node has other addresses now")
                self.synchronise({})
        if self._thorough.allows():
            with self._thorough.spending():
                return self._servers.are_complete(self._planner) and self._kernel.filtering.rules_are_intact()
        return True

    def _is_all_there(self) -> bool:
        self._servers.let_go(self._planner)
        return (
            self._servers.are_there(self._planner)
            and self._kernel.device.addresses() == self._planner.addresses()
            and self._kernel.filtering.sets_are_intact(self._planner.members())
        )

    def remove(self) -> None:
        """Leave nothing behind. Where the device isn't, this mode has never been: nothing is touched then."""
        kernel = self._kernel
        if kernel.device.exists():
            self._servers.remove(self._planner)
            kernel.device.remove()
        kernel.filtering.remove()
        kernel.tuning.restore()

    def _replan(self, around: Surroundings, changes: Mapping[str, tuple[PortState, ...]]) -> None:
        states = self._planner.states() | dict(changes)
        self._planner = Planner(around)
        self._planner.update(states)

    def _node_addresses(self) -> frozenset[str]:
        """Those that others may use: a link-local one comes with every Pod's device, and serves nobody."""
        own = self._kernel.local_addresses() - self._kernel.device.addresses()
        return frozenset(text for text in own if not ip_address(text).is_link_local)


def _really_deleted(difference: Difference) -> list[Member]:
    """A member that only got another mark has been overwritten; deleting the old one would delete both."""
    remarked = {member._replace(mark=0) for member in difference.members_added if member.mark}
    return [member for member in difference.members_deleted if member._replace(mark=0) not in remarked]
