"""Whether what `iptables-save` prints is what was planned.

Pure. Chains that aren't ours don't count, nor does the order of Services in the chains they share, nor do
counters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fairway.proxy.iptables import names
from fairway.proxy.iptables.fixed import OWN, SHARED, Chain, Rules, hooks
from fairway.proxy.iptables.names import FIREWALL
from fairway.proxy.iptables.plan import Planner
from fairway.proxy.iptables.restore import target
from fairway.proxy.model import Family

BASES = frozenset({"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"})
_COUNTERS = re.compile(r"^\[\d+:\d+\] ")


def parse(text: str) -> dict[Chain, list[str]]:
    """Every chain with its rules, without the leading `-A CHAIN`."""
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
    return found


def differing(planner: Planner, family: Family, text: str, worded: bool = True) -> str:
    """The first thing that isn't as planned, in words; empty if all is.

    Unless `worded`, only the number of rules in a chain counts: another iptables may word them otherwise.
    """
    there = parse(text)
    planned = dict(planner.chains(family))
    for chains in planner.port_chains(family):
        planned |= chains
    for chain, rules in planned.items():
        if chain not in there:
            return f"{chain[1]} is missing in {chain[0]}"
        if chain[1] == FIREWALL and not rules:
            continue
        if not _same(chain, rules, there[chain], worded):
            return f"{chain[1]} in {chain[0]} has been changed"
    return _lost_hook(planner, family, there, worded)


def _same(chain: Chain, planned: Rules, there: Sequence[str], worded: bool) -> bool:
    if not worded or len(planned) != len(there):
        return len(planned) == len(there)
    if chain in SHARED:
        last = planned[-1:] == tuple(there[-1:]) or chain != ("nat", names.SERVICES)
        return last and sorted(planned) == sorted(there)
    return list(planned) == list(there)


def _lost_hook(planner: Planner, family: Family, there: Mapping[Chain, Sequence[str]], worded: bool) -> str:
    wanted: dict[Chain, list[str]] = {}
    for hook in hooks(planner.style(family)):
        wanted.setdefault((hook.table, hook.base), []).append(hook.rule)
    for (table, base), rules in wanted.items():
        ours = {name for owner, name in OWN if owner == table}
        found = [rule for rule in there.get((table, base), ()) if target(rule) in ours]
        if found != rules if worded else len(found) != len(rules):
            return f"the jumps from {base} in {table} have been changed"
    return ""


def referenced_by_others(there: Mapping[Chain, Sequence[str]]) -> frozenset[Chain]:
    """Chains that are jumped to from a chain that is neither ours nor the kernel's."""
    others = [c for c in there if c[1] not in BASES and c not in OWN and not names.is_of_a_port(c[1])]
    return frozenset((chain[0], target(rule)) for chain in others for rule in there[chain])
