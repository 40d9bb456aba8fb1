"""Differences as text for `iptables-restore --noflush`, and the way there from whatever the kernel holds.

Each table in the text is one transaction. The table filter may come twice: a refusal is in force before the
way to endpoints is taken away, and goes only when there is a way again. In between, packets would leave by
the default route.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from fairway.proxy.iptables import names
from fairway.proxy.iptables.fixed import OWN, SHARED, TABLES, Chain, Hook, Rules, hooks
from fairway.proxy.iptables.names import FIREWALL
from fairway.proxy.iptables.plan import Difference, Planner
from fairway.proxy.model import Family

T = TypeVar("T")

# iptables-nft takes time with the square of what is in one transaction: a minute for 10,000 Services.
_PORTS_AT_ONCE = 100
_CHAINS_AT_ONCE = 300
# A chain can go when none leads there any more.
_GOING = ("KUBE-FW-", "KUBE-EXT-", "KUBE-SVC-", "KUBE-SVL-", "KUBE-SEP-")


@dataclass(frozen=True, slots=True)
class Found:
    """What one family has: its chains by table, and the rules of the kernel's own chains by chain."""

    chains: Mapping[str, Collection[str]] = field(default_factory=dict)
    hooked: Mapping[Chain, Sequence[str]] = field(default_factory=dict)

    def has(self, chain: Chain) -> bool:
        return chain[1] in self.chains.get(chain[0], ())


def difference_text(difference: Difference) -> str:
    """The refusals that are new, then the ways to endpoints, then the refusals that are no longer needed."""
    filters, nats = _Section("filter"), _Section("nat")
    late = _Section("filter")
    for chain, rules in difference.written.items():
        (nats if chain[0] == "nat" else filters).write(chain[1], rules)
    for (table, chain_name), rule in difference.removed:
        (nats if table == "nat" else late).edits.append(f"-D {chain_name} {rule}")
    for (table, chain_name), rule in difference.inserted:
        (nats if table == "nat" else filters).edits.append(f"-I {chain_name} {rule}")
    for name in difference.deleted:
        nats.delete(name)
    return f"{filters}{nats}{late}"


def everything_text(planner: Planner, family: Family, found: Found) -> str:
    return "".join(str(section) for section in _everything(planner, family, found))


def _everything(planner: Planner, family: Family, found: Found) -> Iterator[_Section]:
    chains = planner.chains(family)
    yield from _foundations(chains, found)
    for batch in _batches(planner.port_chains(family), _PORTS_AT_ONCE):
        section = _Section("nat")
        for port in batch:
            for (_, name), rules in port.items():
                section.write(name, rules)
        yield section
    wanted = hooks(planner.style(family))
    for table in ("filter", "nat"):
        section = _Section(table)
        for chain in SHARED:
            if chain[0] == table:
                section.write(chain[1], chains[chain])
        section.edits += _hook_edits(table, wanted, found)
        yield section
    kept = {name for port in planner.port_chains(family) for _, name in port}
    yield from _deletions({name for name in found.chains.get("nat", ()) if names.is_of_a_port(name)} - kept)


def _foundations(chains: Mapping[Chain, Rules], found: Found) -> Iterator[_Section]:
    """What the chains of Service ports lead to, and the shared chains if they are missing."""
    for table in TABLES:
        section = _Section(table)
        for chain, rules in chains.items():
            if chain[0] != table or (found.has(chain) and _stays(chain, rules)):
                continue
            section.write(chain[1], () if chain in SHARED else rules)
        yield section


def _stays(chain: Chain, rules: Rules) -> bool:
    """Shared chains are filled last; and what the kubelet has written where we have no rule is its own."""
    return chain in SHARED or (chain[1] == FIREWALL and not rules)


def _hook_edits(table: str, wanted: Sequence[Hook], found: Found) -> Iterator[str]:
    """Nothing where all hooks are there in their order, whatever stands between them."""
    ours = {name for owner, name in OWN if owner == table}
    bases = dict.fromkeys(hook.base for hook in wanted if hook.table == table)
    for base in bases:
        rules = [hook.rule for hook in wanted if hook[:2] == (table, base)]
        present = [rule for rule in found.hooked.get((table, base), ()) if target(rule) in ours]
        if present != rules:
            yield from (f"-D {base} {rule}" for rule in present)
            yield from (f"-I {base} {rule}" for rule in reversed(rules))


def target(rule: str) -> str:
    """The chain that a rule jumps to."""
    return rule.rsplit("-j ", 1)[1].split(" ", 1)[0] if "-j " in rule else ""


def _deletions(stale: Iterable[str]) -> Iterator[_Section]:
    going = sorted(stale, key=lambda name: (_GOING.index(name[:-16]), name))
    for batch in _batches(iter(going), _CHAINS_AT_ONCE):
        section = _Section("nat")
        for name in batch:
            section.delete(name)
        yield section


def removal_text(found: Found, referenced: Collection[Chain], spared: Collection[str] = ()) -> str:
    """Take away all that is ours but the spared. Chains that others' rules jump to can only be emptied."""
    sections = []
    for table in TABLES:
        section = _Section(table)
        ours = {name for owner, name in OWN if owner == table}.difference(spared)
        for (owner, base), rules in found.hooked.items():
            if owner == table:
                section.edits += [f"-D {base} {rule}" for rule in rules if target(rule) in ours]
        present = [n for n in found.chains.get(table, ()) if n in ours or _is_port_chain(table, n)]
        for name in present:
            if (table, name) in referenced:
                section.write(name, ())
            else:
                section.delete(name)
        sections.append(str(section))
    return "".join(sections)


def _is_port_chain(table: str, name: str) -> bool:
    return table == "nat" and names.is_of_a_port(name)


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
