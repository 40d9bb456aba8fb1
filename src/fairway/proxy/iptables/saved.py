"""What `iptables-save` prints, read: chains with their rules, whose they are and where they lead.

Pure. A rule is its text without the leading `-A CHAIN`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairway.proxy.iptables import names
from fairway.proxy.iptables.fixed import OWN, SHARED, Chain
from fairway.proxy.iptables.names import KUBELET_CANARY

_BASES = frozenset({"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"})
_COUNTERS = re.compile(r"^\[\d+:\d+\] ")


@dataclass(frozen=True, slots=True)
class Saved:
    """All chains of one family."""

    chains: Mapping[Chain, Sequence[str]] = field(default_factory=dict)

    def __contains__(self, chain: Chain) -> bool:
        return chain in self.chains

    def holds(self, chain: Chain, rules: Sequence[str]) -> bool:
        """Whether the chain has these rules; in those that Services share, their order doesn't count."""
        there = self.chains.get(chain)
        if there is None or len(there) != len(rules):
            return False
        if chain in SHARED:
            is_last = chain != ("nat", names.SERVICES) or list(rules[-1:]) == list(there[-1:])
            return is_last and sorted(rules) == sorted(there)
        return list(rules) == list(there)

    def ports(self) -> set[str]:
        """The chains of single Service ports, all in the table nat."""
        return {chain[1] for chain in self.chains if is_port(chain)}

    def hooks(self, table: str, base: str) -> list[str]:
        """The rules of one of the kernel's chains that jump to one of ours."""
        return [rule for rule in self.chains.get((table, base), ()) if (table, target(rule)) in OWN]

    def bases(self) -> list[Chain]:
        return [chain for chain in self.chains if chain[1] in _BASES]

    @property
    def has_kubelet(self) -> bool:
        """It has a canary of its own where it looks after chains, and shares one with us."""
        return any(name == KUBELET_CANARY for _, name in self.chains)

    def wanted_by_others(self) -> frozenset[Chain]:
        """Chains that are jumped to from a chain that is neither ours nor the kernel's."""
        others = [chain for chain in self.chains if not is_ours(chain) and chain[1] not in _BASES]
        return frozenset((chain[0], target(rule)) for chain in others for rule in self.chains[chain])


def is_ours(chain: Chain) -> bool:
    return chain in OWN or is_port(chain)


def is_port(chain: Chain) -> bool:
    """Whether it belongs to a single Service port."""
    return chain[0] == "nat" and names.is_of_a_port(chain[1])


def target(rule: str) -> str:
    """The chain that a rule jumps to."""
    return rule.rsplit("-j ", 1)[1].split(" ", 1)[0] if "-j " in rule else ""


def parse(text: str) -> Saved:
    found: dict[Chain, list[str]] = {}
    table = ""
    for line in text.splitlines():
        if line.startswith("*"):
            table = line[1:]
        elif line.startswith(":"):
            found[table, line[1:].split(" ", 1)[0]] = []
        else:
            rule = _COUNTERS.sub("", line)
            if rule.startswith("-A "):
                _, chain, *rest = rule.split(" ", 2)
                found.setdefault((table, chain), []).append(rest[0] if rest else "")
    return Saved(found)
