"""Whether what the kernel holds is what was planned.

Pure. Chains that aren't ours don't count, nor does the order of Services in the chains they share.
"""

from __future__ import annotations

from fairway.proxy.iptables.fixed import Chain, Rules, hooks
from fairway.proxy.iptables.names import FIREWALL
from fairway.proxy.iptables.plan import Planner
from fairway.proxy.iptables.saved import Saved
from fairway.proxy.model import Family


def differing(planner: Planner, family: Family, saved: Saved, worded: bool = True) -> str:
    """The first thing that isn't as planned, in words; empty if all is.

    Unless `worded`, only the number of rules in a chain counts: another iptables may word them otherwise.
    """
    planned = dict(planner.chains(family))
    for chains in planner.port_chains(family):
        planned |= chains
    for chain, rules in planned.items():
        if chain not in saved:
            return f"{chain[1]} is missing in {chain[0]}"
        if chain[1] == FIREWALL and not rules:
            continue
        if not _same(saved, chain, rules, worded):
            return f"{chain[1]} in {chain[0]} has been changed"
    return _lost_hook(planner, family, saved, worded)


def _same(saved: Saved, chain: Chain, rules: Rules, worded: bool) -> bool:
    return saved.holds(chain, rules) if worded else len(saved.chains[chain]) == len(rules)


def _lost_hook(planner: Planner, family: Family, saved: Saved, worded: bool) -> str:
    wanted: dict[Chain, list[str]] = {}
    for hook in hooks(planner.style(family)):
        wanted.setdefault((hook.table, hook.base), []).append(hook.rule)
    for (table, base), rules in wanted.items():
        found = saved.hooks(table, base)
        if found != rules if worded else len(found) != len(rules):
            return f"the jumps from {base} in {table} have been changed"
    return ""
