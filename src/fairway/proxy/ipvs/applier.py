"""Brings plans into the kernel, and notices when someone else has changed what is there.

Thin and blocking: the planner decides, this runs. All calls come from one thread. The order of steps is such
that no client is refused in between: addresses and set members come before servers, and go after them.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import structlog

from fairway.kernel.conntrack import Conntrack
from fairway.kernel.dummy_device import DummyDevice
from fairway.kernel.ipvs import Ipvs, Load, Order, ServerName, Target, Verb, VirtualServer
from fairway.proxy.changes import PortState
from fairway.proxy.ipvs import orders
from fairway.proxy.ipvs.draining import Draining
from fairway.proxy.ipvs.filtering import Filtering
from fairway.proxy.ipvs.frontends import Frontend, Server, Surroundings
from fairway.proxy.ipvs.plan import Difference, Planner
from fairway.proxy.ipvs.sets import Member
from fairway.proxy.ipvs.tuning import Tuning
from fairway.proxy.model import Family
from fairway.proxy.settings import Settings, in_family
from fairway.proxy.stale_flows import Expectation, stale

log = structlog.get_logger()

DEVICE = "kube-ipvs0"
# Looking for others' changes takes at most this part of the time.
_SHARE = 1 / 50


@dataclass(frozen=True, slots=True)
class Kernel:
    """What of the host this mode touches."""

    ipvs: Ipvs
    device: DummyDevice
    filtering: Filtering
    conntrack: Conntrack
    tuning: Tuning
    local_addresses: Callable[[], frozenset[str]]


class Applier:
    def __init__(
        self, kernel: Kernel, settings: Settings, node: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kernel, self._clock = kernel, clock
        self._planner = Planner(Surroundings(settings, node))
        self._draining = Draining(clock)
        self._quiet_until = 0.0

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
        self._serve(difference.servers)
        kernel.device.change(difference.addresses_deleted, ())
        kernel.filtering.change((), _really_deleted(difference))
        self._clean(difference.udp)
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
        self._synchronise_servers()
        kernel.device.change(held - wanted, ())
        kernel.filtering.tidy(self._planner.members())
        self._clean(self._planner.udp_expectations(), self.settings.service_ranges)
        self._quiet_until = 0.0

    def is_intact(self) -> bool:
        """Whether everything is still as we left it. Also lets go of real servers that have had their time:
        this is called every second or so, and has just read how many connections each has.
        """
        began = self._clock()
        if began < self._quiet_until:
            return True
        servers = self._kernel.ipvs.servers()
        self._let_go({name: server.targets for name, server in servers.items()})
        intact = (
            self._serves(servers)
            and self._kernel.device.addresses() == self._planner.addresses()
            and self._node_addresses() == self._planner.around.addresses
            and self._kernel.filtering.is_intact(self._planner.members())
        )
        ended = self._clock()
        self._quiet_until = ended + (ended - began) / _SHARE if intact else 0.0
        return intact

    def remove(self) -> None:
        """Leave nothing behind. Where the device isn't, this mode has never been: nothing is touched then."""
        kernel = self._kernel
        if kernel.device.exists():
            kernel.ipvs.change(
                [Order(Verb.DELETE_SERVER, name) for name in self._ours(kernel.ipvs.servers())]
            )
            kernel.device.remove()
        kernel.filtering.remove()
        kernel.tuning.restore()

    # -- servers ---------------------------------------------------------------------------------------

    def _serve(self, servers: Mapping[Frontend, tuple[Server | None, Server | None]]) -> None:
        given: list[Order] = []
        for frontend, (before, after) in servers.items():
            known = (orders.balancing_of(before), orders.targets_of(before)) if before else None
            given += orders.changes(orders.name_of(frontend), known, after, self._draining)
        self._order(given)

    def _synchronise_servers(self) -> None:
        wanted = {orders.name_of(frontend): server for frontend, server in self._planner.servers().items()}
        found = self._ours(self._kernel.ipvs.servers())
        given: list[Order] = []
        self._draining = Draining(self._clock)
        for name in {**wanted, **found}:
            server = wanted.get(name)
            known = orders.as_known(found[name], server) if name in found else None
            given += orders.changes(name, known, server, self._draining)
        self._order(given)

    def _order(self, given: list[Order]) -> None:
        self._kernel.ipvs.change(given)
        drained = {order.server for order in given if order.verb is Verb.SET_TARGET and not order.weight}
        self._let_go({name: self._kernel.ipvs.loads(name) for name in drained})

    def _let_go(self, loads: Mapping[ServerName, Mapping[Target, Load]]) -> None:
        due = self._draining.due(loads)
        if due:
            self._kernel.ipvs.change([Order(Verb.DELETE_TARGET, name, target=target) for name, target in due])

    def _serves(self, servers: Mapping[ServerName, VirtualServer]) -> bool:
        wanted = {orders.name_of(frontend): server for frontend, server in self._planner.servers().items()}
        found = self._ours(servers)
        return found.keys() == wanted.keys() and all(
            self._is_as_wanted(name, found[name], server) for name, server in wanted.items()
        )

    def _is_as_wanted(self, name: ServerName, found: VirtualServer, wanted: Server) -> bool:
        balancing, weights = orders.as_known(found, wanted)
        steady = {t: weight for t, weight in weights.items() if (name, t) not in self._draining}
        return balancing == orders.balancing_of(wanted) and steady == orders.targets_of(wanted)

    def _ours(self, servers: Mapping[ServerName, VirtualServer]) -> dict[ServerName, VirtualServer]:
        """Without those in ranges that are someone else's."""
        excluded = [ipaddress.ip_network(text) for text in self.settings.excluded_cidrs]
        if not excluded:
            return dict(servers)
        return {
            name: server
            for name, server in servers.items()
            if not name.address or not any(ipaddress.ip_address(name.address) in net for net in excluded)
        }

    # -- the rest --------------------------------------------------------------------------------------

    def _replan(self, around: Surroundings, changes: Mapping[str, tuple[PortState, ...]]) -> None:
        states = self._planner.states() | dict(changes)
        self._planner = Planner(around)
        self._planner.update(states)

    def _node_addresses(self) -> frozenset[str]:
        return self._kernel.local_addresses() - self._kernel.device.addresses()

    def _clean(self, expectations: Iterable[Expectation], ranges: tuple[str, ...] = ()) -> None:
        """Delete stale UDP flows. The new servers are in force, so none can come back."""
        every = tuple(expectations)
        for family, version in ((Family.IPV4, 4), (Family.IPV6, 6)):
            mine = [expected for expected in every if expected.family is family]
            unused = in_family(ranges, family)
            if not mine and not unused:
                continue
            flows = self._kernel.conntrack.udp_flows(version)
            gone = stale(flows, mine, self._planner.around.addresses, unused)
            for flow in gone:
                self._kernel.conntrack.delete(version, flow)
            if gone:
                log.info("deleted stale flows", protocol="udp", family=str(family), flows=len(gone))


def _really_deleted(difference: Difference) -> list[Member]:
    """A member that only got another mark has been overwritten; deleting the old one would delete both."""
    remarked = {member._replace(mark=0) for member in difference.members_added if member.mark}
    return [member for member in difference.members_deleted if member._replace(mark=0) not in remarked]
