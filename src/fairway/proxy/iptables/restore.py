"""Differences as text for `iptables-restore --noflush`, and the way there from whatever the kernel holds.

Each table in the text is one transaction. The table filter may come twice: a refusal is in force before the
way to endpoints is taken away, and goes only when there is a way again. In between, packets would leave by
the default route.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from fairway.proxy.iptables.fixed import OWN, SHARED, TABLES, Chain, Hook, Rules, hooks
from fairway.proxy.iptables.names import FIREWALL, MARK_DROP
from fairway.proxy.iptables.plan import Difference, Planner
from fairway.proxy.iptables.saved import Saved, is_port
from fairway.proxy.model import Family

T = TypeVar("T")

# iptables-nft takes time with the square of what is in one transaction: a minute for 10,000 Services.
_PORTS_AT_ONCE = 100
_CHAINS_AT_ONCE = 300
# A chain can go when none leads there any more.
_GOING = ("KUBE-FW-", "KUBE-EXT-", "KUBE-SVC-", "KUBE-SVL-", "KUBE-SEP-")


def difference_text(difference: Difference) -> str:
    """The refusals that are new, then the ways to endpoints, then the refusals that are no longer needed."""
    if len(difference.written) + len(difference.deleted) > _CHAINS_AT_ONCE:
        return _in_batches(difference)
    filters, nats, late = _Section("filter"), _Section("nat"), _Section("filter")
    for (table, name), rules in difference.written.items():
        (nats if table == "nat" else filters).write(name, rules)
    for (table, name), rule in difference.removed:
        (nats if table == "nat" else late).edits.append(f"-D {name} {rule}")
    for (table, name), rule in difference.inserted:
        (nats if table == "nat" else filters).edits.append(f"-I {name} {rule}")
    for name in difference.deleted:
        nats.delete(name)
    return f"{filters}{nats}{late}"


def _in_batches(difference: Difference) -> str:
    """Chains that others lead to come first; what leads to them, the shared chains, last."""
    ports = {chain[1]: rules for chain, rules in difference.written.items() if is_port(chain)}
    sections = []
    for batch in _batches(iter(sorted(ports, key=_place, reverse=True)), _CHAINS_AT_ONCE):
        section = _Section("nat")
        for name in batch:
            section.write(name, ports[name])
        sections.append(section)
    shared = {chain: rules for chain, rules in difference.written.items() if not is_port(chain)}
    rest = Difference(shared, difference.inserted, difference.removed)
    return "".join(map(str, (*sections, difference_text(rest), *_deletions(difference.deleted))))


def everything_text(planner: Planner, family: Family, saved: Saved) -> str:
    """What leads from what is there to all that is planned; chains that are as planned are left alone."""
    return "".join(str(section) for section in _everything(planner, family, saved))


def _everything(planner: Planner, family: Family, saved: Saved) -> Iterator[_Section]:
    chains = planner.chains(family)
    yield from _foundations(chains, saved)
    yield from _ports(planner.port_chains(family), saved)
    wanted = hooks(planner.style(family))
    for table in ("filter", "nat"):
        section = _Section(table)
        for chain in SHARED:
            if chain[0] == table and not saved.holds(chain, chains[chain]):
                section.write(chain[1], chains[chain])
        section.edits += _hook_edits(table, wanted, saved)
        yield section
    kept = {name for port in planner.port_chains(family) for _, name in port}
    yield from _deletions(saved.ports() - kept)
    yield from _leftovers(chains, saved)


def _foundations(chains: Mapping[Chain, Rules], saved: Saved) -> Iterator[_Section]:
    """What the chains of Service ports lead to, and the shared chains if they are missing."""
    for table in TABLES:
        section = _Section(table)
        for chain, rules in chains.items():
            if chain[0] == table and not _stays(chain, rules, saved):
                section.write(chain[1], () if chain in SHARED else rules)
        yield section


def _stays(chain: Chain, rules: Rules, saved: Saved) -> bool:
    """Shared chains are filled last; and what the kubelet has written where we have no rule is its own."""
    if chain in SHARED or (chain[1] == FIREWALL and not rules and saved.has_kubelet):
        return chain in saved
    return saved.holds(chain, rules)


def _ports(ports: Iterator[Mapping[Chain, Rules]], saved: Saved) -> Iterator[_Section]:
    for batch in _batches(ports, _PORTS_AT_ONCE):
        section = _Section("nat")
        for port in batch:
            for chain, rules in port.items():
                if not saved.holds(chain, rules):
                    section.write(chain[1], rules)
        yield section


def _hook_edits(table: str, wanted: Sequence[Hook], saved: Saved) -> Iterator[str]:
    """Nothing where all hooks are there in their order, whatever stands between them."""
    for base in dict.fromkeys(hook.base for hook in wanted if hook.table == table):
        rules = [hook.rule for hook in wanted if hook[:2] == (table, base)]
        present = saved.hooks(table, base)
        if present != rules:
            yield from (f"-D {base} {rule}" for rule in present)
            yield from (f"-I {base} {rule}" for rule in reversed(rules))


def _deletions(stale: Iterable[str]) -> Iterator[_Section]:
    for batch in _batches(iter(sorted(stale, key=_place)), _CHAINS_AT_ONCE):
        section = _Section("nat")
        for name in batch:
            section.delete(name)
        yield section


def _place(name: str) -> tuple[int, str]:
    return _GOING.index(name[:-16]), name


def _leftovers(chains: Mapping[Chain, Rules], saved: Saved) -> Iterator[_Section]:
    """The one chain that only classic style has."""
    chain = ("nat", MARK_DROP)
    if chain in saved and chain not in chains and chain not in saved.wanted_by_others():
        section = _Section("nat")
        section.delete(MARK_DROP)
        yield section


def removal_text(saved: Saved) -> str:
    """Take away all that is ours and not the kubelet's. Chains that others jump to can only be emptied."""
    return "".join(str(section) for section in _removal(saved))


def _removal(saved: Saved) -> Iterator[_Section]:
    ours = [chain for chain in sorted(OWN) if chain in saved and not _is_kubelets(chain, saved)]
    wanted = saved.wanted_by_others()
    held = [("nat", name) for name in sorted(saved.ports()) if ("nat", name) in wanted]
    for table in TABLES:
        section = _Section(table)
        for owner, name in (*ours, *held):
            if owner == table:
                section.write(name, ())
        for owner, base in saved.bases():
            jumps = saved.hooks(table, base) if owner == table else []
            section.edits += [f"-D {base} {rule}" for rule in jumps if not _stays_hooked(rule, saved)]
        yield section
    yield from _deletions(saved.ports() - {name for _, name in held})
    for table in TABLES:
        section = _Section(table)
        for chain in ours:
            if chain[0] == table and chain not in wanted:
                section.delete(chain[1])
        yield section


def _is_kubelets(chain: Chain, saved: Saved) -> bool:
    return chain[1] == FIREWALL and saved.has_kubelet


def _stays_hooked(rule: str, saved: Saved) -> bool:
    return rule == f"-j {FIREWALL}" and saved.has_kubelet


class _Section:
    """One transaction in one table."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.edits: list[str] = []
        self._declared: list[str] = []
        self._filled: list[str] = []
        self._deleted: list[str] = []

    def write(self, chain: str, rules: Iterable[str]) -> None:
        self._declared.append(f":{chain} - [0:0]")
        self._filled += [f"-A {chain} {rule}" for rule in rules]

    def delete(self, chain: str) -> None:
        """It must be declared, which empties it, before it can be deleted."""
        self._declared.append(f":{chain} - [0:0]")
        self._deleted.append(f"-X {chain}")

    def __str__(self) -> str:
        lines = (*self._declared, *self._filled, *self.edits, *self._deleted)
        return "\n".join((f"*{self.table}", *lines, "COMMIT", "")) if lines else ""


def _batches(these: Iterator[T], size: int) -> Iterator[list[T]]:
    while batch := list(islice(these, size)):
        yield batch
