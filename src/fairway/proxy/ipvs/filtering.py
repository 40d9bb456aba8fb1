"""The sets and the constant rules, in the kernel: brought there, compared, and taken away again.

What belongs into the sets is planned elsewhere; what the rules say is in `rules`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from fairway.kernel.ipset import Entry, Ipset, Kind
from fairway.kernel.iptables_restore import IptablesRestore
from fairway.proxy.ipvs import rules, sets
from fairway.proxy.ipvs.sets import Member, full_name
from fairway.proxy.model import Family
from fairway.proxy.settings import Settings

_VERSIONS = {Family.IPV4: 4, Family.IPV6: 6}
Tables = dict[str, list[str]]


class Filtering:
    def __init__(
        self, ipset: Ipset, iptables: IptablesRestore, families: tuple[Family, ...] = tuple(Family)
    ) -> None:
        """`families`: those that the kernel has."""
        self._ipset, self._iptables, self._families = ipset, iptables, families
        # What our rules looked like after we wrote them: iptables spells some in its own way.
        self._baseline: dict[Family, Tables] = {}

    def change(self, added: Iterable[Member], deleted: Iterable[Member]) -> None:
        new, gone = _by_set(added), _by_set(deleted)
        for name in {**gone, **new}:
            self._ipset.change(name, gone.get(name, ()), new.get(name, ()))

    def synchronise(self, members: Collection[Member], settings: Settings) -> None:
        """All sets and rules, with nothing missing. What is too much in sets is left for `tidy`."""
        self._create_sets()
        wanted = _by_set(members)
        for name, entries in wanted.items():
            self._ipset.change(name, (), entries - self._ipset.entries(name))
        for family in self._families:
            version = _VERSIONS[family]
            self._iptables.restore(version, _text(family, settings, self._iptables.save(version)))
        self._baseline = self._present()

    def tidy(self, members: Collection[Member]) -> None:
        """Take out of the sets what isn't wanted there."""
        wanted = _by_set(members)
        for name in self._sets():
            self._ipset.change(name, self._ipset.entries(name) - wanted.get(name, set()), ())

    def sets_are_intact(self, members: Iterable[Member]) -> bool:
        counts = Counter(full_name(member.set, member.family) for member in members)
        sizes = self._ipset.sizes()
        return all(sizes.get(name) == (kind, counts[name]) for name, kind in self._sets().items())

    def rules_are_intact(self) -> bool:
        return self._present() == self._baseline

    def remove(self) -> None:
        """Only where our sets are: another mode has chains of the same names."""
        existing = self._ipset.sizes().keys() & self._sets().keys()
        if not existing:
            return
        self._remove_rules()
        for name in sorted(existing):
            self._ipset.destroy(name)

    def _sets(self) -> dict[str, Kind]:
        return {
            full_name(name, family): _kind(name, family) for family in self._families for name in sets.TYPES
        }

    def _create_sets(self) -> None:
        existing = {name: kind for name, (kind, _) in self._ipset.sizes().items()}
        wanted = self._sets()
        strange = [name for name, kind in wanted.items() if existing.get(name, kind) != kind]
        if strange:
            self._remove_rules()
        for name in strange:
            self._ipset.destroy(name)
        for name, kind in wanted.items():
            if existing.get(name) != kind:
                self._ipset.create(name, kind)

    def _present(self) -> dict[Family, Tables]:
        return {family: _ours(self._iptables.save(_VERSIONS[family])) for family in self._families}

    def _remove_rules(self) -> None:
        for family in self._families:
            version = _VERSIONS[family]
            text = "\n".join(_removal(_ours(self._iptables.save(version))))
            if text:
                self._iptables.restore(version, text + "\n")


def _kind(name: str, family: Family) -> Kind:
    type_ = sets.TYPES[name]
    version = 0 if type_ == "bitmap:port" else _VERSIONS[family]
    return Kind(type_, version, name in sets.MARKED)


def _by_set(members: Iterable[Member]) -> dict[str, set[Entry]]:
    found: dict[str, set[Entry]] = {}
    for member in members:
        entry = Entry(member.address, str(member.protocol), member.port, member.other, member.mark)
        found.setdefault(full_name(member.set, member.family), set()).add(entry)
    return found


# -- rules as text ---------------------------------------------------------------------------------------


def _text(family: Family, settings: Settings, saved: Tables) -> str:
    lines: list[str] = []
    for table, chains in rules.tables(family, settings).items():
        lines.append(f"*{table}")
        lines += [f":{chain} - [0:0]" for chain in chains]
        lines += [f"-A {chain} {rule}" for chain, body in chains.items() for rule in body]
        lines += _missing_hooks(table, saved.get(table, []))
        lines.append("COMMIT")
    return "\n".join([*lines, ""])


def _missing_hooks(table: str, saved: list[str]) -> Iterator[str]:
    """Each before whatever others have there; so the last one written comes first."""
    for hook in reversed(rules.HOOKS):
        if hook.table == table and not any(_is_hook(line, hook) for line in saved):
            yield f"-I {hook.rule}"


def _is_hook(line: str, hook: rules.Hook) -> bool:
    return line.startswith(f"-A {hook.chain} ") and line.endswith(f" -j {hook.target}")


def _ours(saved: Tables) -> Tables:
    """Of what iptables holds, our chains, their rules, and the jumps to them."""
    found = {}
    for table, names in _chain_names().items():
        hooks = [hook for hook in rules.HOOKS if hook.table == table]
        lines = [
            line
            for line in saved.get(table, [])
            if line.split()[0 if line.startswith(":") else 1].lstrip(":") in names
            or any(_is_hook(line, hook) for hook in hooks)
        ]
        if lines:
            found[table] = lines
    return found


def _chain_names() -> dict[str, frozenset[str]]:
    tables = rules.tables(Family.IPV4, Settings())
    return {table: frozenset(chains) for table, chains in tables.items()}


def _removal(ours: Tables) -> Iterator[str]:
    for table, lines in ours.items():
        chains = [line[1:].split()[0] for line in lines if line.startswith(":")]
        yield f"*{table}"
        # Named so, a chain is emptied; only then can those it refers to be deleted.
        yield from (f":{chain} - [0:0]" for chain in chains)
        for line in lines:
            if line.startswith("-A ") and line.split()[1] not in chains:
                yield f"-D {line[3:]}"
        yield from (f"-X {chain}" for chain in chains)
        yield "COMMIT"
