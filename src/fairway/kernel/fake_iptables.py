"""iptables in memory, for tests: keeps tables, chains and rules, and refuses what the kernel refuses.

Understands what `iptables-restore --noflush` reads, as far as Fairway writes it. Rules are kept as text.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

from fairway.kernel.iptables import TABLES, IptablesError
from fairway.kernel.iptables_restore import parse_save

_BASES = {
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
}
_TARGETS = ("ACCEPT", "DROP", "RETURN", "REJECT", "MARK", "SET", "MASQUERADE", "DNAT")
Table = dict[str, list[str]]


class FakeIptables:
    """`tables` by IP version and name; `restored` holds every text that was given; `fail_next` calls fail."""

    def __init__(self) -> None:
        self.tables: dict[tuple[int, str], Table] = {
            (version, table): {chain: [] for chain in _BASES[table]} for version in (4, 6) for table in TABLES
        }
        self.restored: list[tuple[int, str]] = []
        self.fail_next = 0
        self._generation = 1

    def restore(self, version: int, text: str) -> None:
        if self.fail_next:
            self.fail_next -= 1
            raise IptablesError("asked to fail")
        self.restored.append((version, text))
        for section in text.split("COMMIT\n"):
            if section:
                self._commit(version, section.splitlines())

    def chains(self, version: int) -> Mapping[str, frozenset[str]]:
        return {table: frozenset(self.tables[version, table]) for table in TABLES}

    def save(self, version: int) -> str:
        lines: list[str] = []
        for table in TABLES:
            chains = self.tables[version, table]
            lines.append(f"*{table}")
            lines += [f":{chain} {'ACCEPT' if chain in _BASES[table] else '-'} [0:0]" for chain in chains]
            lines += [f"-A {chain} {rule}".rstrip() for chain, rules in chains.items() for rule in rules]
            lines.append("COMMIT")
        return "\n".join(lines) + "\n"

    def generation(self) -> int:
        return self._generation

    def close(self) -> None:
        return None

    def flush(self, version: int) -> None:
        """As someone else does it: every rule and every chain but the kernel's own."""
        for table in TABLES:
            self.tables[version, table] = {chain: [] for chain in _BASES[table]}
        self._generation += 1

    def _commit(self, version: int, lines: list[str]) -> None:
        table = lines[0].removeprefix("*")
        chains = copy.deepcopy(self.tables[version, table])
        for line in lines[1:]:
            self._line(table, chains, line)
        self.tables[version, table] = chains
        self._generation += 1

    def _line(self, table: str, chains: Table, line: str) -> None:
        if line.startswith(":"):
            chains[line[1:].split(" ", 1)[0]] = []
            return
        command, name, *rest = line.split(" ", 2)
        rule = rest[0] if rest else ""
        if name not in chains:
            raise IptablesError(f"no chain {name} in {table}: {line}")
        match command:
            case "-A" | "-I":
                _check_target(chains, line)
                chains[name].insert(len(chains[name]) if command == "-A" else 0, rule)
            case "-D":
                if rule not in chains[name]:
                    raise IptablesError(f"no such rule: {line}")
                chains[name].remove(rule)
            case "-X":
                if chains[name] or any(_leads_to(rule, name) for rules in chains.values() for rule in rules):
                    raise IptablesError(f"chain is in use: {line}")
                del chains[name]
            case _:
                raise IptablesError(f"not understood: {line}")


class FakeIptablesRestore:
    """The same tables for those who use iptables by its plain programs."""

    def __init__(self, iptables: FakeIptables) -> None:
        self._iptables = iptables

    def save(self, version: int) -> dict[str, list[str]]:
        return parse_save(self._iptables.save(version))

    def restore(self, version: int, text: str) -> None:
        self._iptables.restore(version, text)


def _leads_to(rule: str, chain: str) -> bool:
    return rule == f"-j {chain}" or rule.endswith(f" -j {chain}")


def _check_target(chains: Table, line: str) -> None:
    words = line.split()
    if "-j" in words:
        target = words[words.index("-j") + 1]
        if target not in chains and target not in _TARGETS:
            raise IptablesError(f"no chain {target}: {line}")
