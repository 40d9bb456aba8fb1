"""Brings plans into the kernel, and notices when someone else has changed our tables.

Thin and blocking: the planner decides, this runs. All calls come from one thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import structlog

from fairway.kernel.conntrack import Conntrack
from fairway.kernel.nftables import Contents, Nftables, NftablesError, TableWatch, TransactionTooLarge
from fairway.metrics import Figure
from fairway.proxy.changes import PortState
from fairway.proxy.flow_cleaning import FlowCleaner
from fairway.proxy.flow_counting import FlowCounter
from fairway.proxy.model import Family
from fairway.proxy.nftables import ruleset
from fairway.proxy.nftables.counting import ConnectionCounts, Holders
from fairway.proxy.nftables.describe import describe
from fairway.proxy.nftables.layout import LAYOUT, Layout
from fairway.proxy.nftables.plan import Planner, PortPlan
from fairway.proxy.nftables.sync import Synchronisation, remove, replace, synchronise
from fairway.proxy.nftables.transaction import Transaction
from fairway.proxy.programming import Watch
from fairway.proxy.service_counts import Count
from fairway.proxy.settings import Settings

log = structlog.get_logger()

_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Kernel:
    """What of the host this mode touches."""

    nftables: Nftables
    conntrack: Conntrack
    local_addresses: Callable[[], Container[str]]
    watch: TableWatch | None = None
    counts: ConnectionCounts | None = None


class Applier:
    def __init__(self, kernel: Kernel, settings: Settings, node: str, layout: Layout = LAYOUT) -> None:
        self._kernel, self._layout = kernel, layout
        self._flows = FlowCleaner(kernel.conntrack, kernel.local_addresses)
        self.connections = FlowCounter(kernel.conntrack, kernel.local_addresses).count
        self._planner = Planner(settings, node, layout)
        # The generation that our last transaction made, and what the constant part looked like then.
        self._generation = _UNKNOWN
        self._baseline: dict[Family, Contents | None] = {}

    @property
    def settings(self) -> Settings:
        return self._planner.settings

    @property
    def watch(self) -> Watch | None:
        return self._kernel.watch

    def configure(self, settings: Settings) -> None:
        """Takes effect with the next `synchronise`."""
        states = self._planner.states()
        self._planner = self._planner.successor(settings)
        self._planner.update(states)

    def apply(self, changes: Mapping[str, tuple[PortState, ...]]) -> Transaction:
        """Send only what differs. After an exception the kernel must be synchronised."""
        update = self._planner.update(changes)
        transaction = update.transaction
        if transaction:
            with self._counting(update.closing):
                self._commit(
                    lambda: send(self._kernel.nftables, transaction),
                    any(p.chains_added or p.chains_deleted for p in update.differences),
                )
        self._flows.clean(update.udp)
        return transaction

    def synchronise(self, changes: Mapping[str, tuple[PortState, ...]]) -> None:
        """Bring everything in order, from whatever the kernel holds."""
        planner, holders = self._planner.successor(self.settings), self._planner.holders()
        planner.update(self._planner.states() | dict(changes))
        self._planner = planner
        steps = synchronise(planner, self._existing_chains())
        with self._counting(holders), self._unwatched():
            try:
                self._commit(lambda: carry_out(self._kernel.nftables, steps), changes_rules=True, fresh=True)
            except NftablesError as error:
                log.warning("replacing tables of another layout", error=str(error))
                self._commit(
                    lambda: send(self._kernel.nftables, replace(planner)), changes_rules=True, fresh=True
                )
        self._flows.clean(planner.udp_expectations(), self.settings.service_ranges)

    def is_intact(self) -> bool:
        """Whether the tables are still as we left them. Costs one question as long as nobody commits."""
        generation = self._kernel.nftables.generation()
        if generation == self._generation:
            return True
        if self._baseline != self._constant_part() or not all(self._has_all(family) for family in Family):
            return False
        self._generation = generation
        return True

    def describe(self, service: str) -> str:
        """What is programmed for a Service, and the connections that use it right now."""
        return describe(service, self.port_plans(service), self.settings, self.connections)

    def port_plans(self, service: str) -> list[PortPlan]:
        return self._planner.port_plans(service)

    def figures(self) -> Iterator[Figure]:
        return self._flows.figures()

    def count_services(self) -> Count:
        counts = self._kernel.counts
        return counts.count(self._planner.holders()) if counts else tuple

    def remove(self) -> None:
        """Leave nothing behind."""
        tables = [self._layout.in_family(family) for family in Family]
        self._kernel.nftables.run("\n".join(line for table in tables for line in remove(table)))

    def _counting(self, going: Holders) -> AbstractContextManager[None]:
        counts = self._kernel.counts
        return counts.last_look(going) if counts else nullcontext()

    def _unwatched(self) -> AbstractContextManager[None]:
        """Others' changes meanwhile are noticed all the same: by the generation, and a little later."""
        return self._kernel.watch.paused() if self._kernel.watch else nullcontext()

    def _commit(self, work: Callable[[], int], changes_rules: bool, fresh: bool = False) -> None:
        """`work` returns how many commits it took; `fresh`: it makes up for whatever others may have done."""
        nftables = self._kernel.nftables
        before = nftables.generation()
        commits = work()
        after = nftables.generation()
        undisturbed = after == before + commits and (fresh or before == self._generation)
        self._generation = after if undisturbed else _UNKNOWN
        if changes_rules:
            self._baseline = self._constant_part()
            if nftables.generation() != after:
                self._baseline = {}

    def _existing_chains(self) -> dict[Family, list[str]]:
        found: dict[Family, list[str]] = {family: [] for family in Family}
        for entry in self._kernel.nftables.query("list chains"):
            chain = entry.get("chain")
            if chain and chain["table"] == self._layout.table and chain["family"] in found:
                found[Family(chain["family"])].append(chain["name"])
        return found

    def _constant_part(self) -> dict[Family, Contents | None]:
        """All rules and the sets that Services have no part in."""
        nftables = self._kernel.nftables
        return {
            family: nftables.contents(family, self._layout.table, ruleset.CONFIGURED) for family in Family
        }

    def _has_all(self, family: Family) -> bool:
        others = {*ruleset.KEPT, *ruleset.CONFIGURED}
        names = [name for name in ruleset.maps(family) if name not in others]
        contents = self._kernel.nftables.contents(family, self._layout.table, names)
        planned = Counter(element.set for element in self._planner.elements(family))
        return contents is not None and contents.elements == {name: planned[name] for name in names}


def carry_out(nftables: Nftables, steps: Synchronisation) -> int:
    """Returns how many commits it took, as does `send`."""
    return send(nftables, steps.prepare) + nftables.refill(steps.refills) + send(nftables, steps.open)


def send(nftables: Nftables, transaction: Transaction) -> int:
    try:
        nftables.run(transaction.text)
    except TransactionTooLarge:
        parts = list(transaction.parts())
        log.info("programming in pieces, as the whole is more than the kernel takes", pieces=len(parts))
        for part in parts:
            nftables.run(part)
        return len(parts)
    return 1
