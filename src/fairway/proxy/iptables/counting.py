"""Connections by Service port, from the counters of the rules that lead to a Service port's chains.

The first packet of every connection passes the chains that all Services share, and no other does. A rule that
is written anew has another handle and begins at nought; what it counted between the last look and its end is
lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairway.kernel.counters import Counters
from fairway.metrics import Figure
from fairway.proxy.iptables.names import NODEPORTS, SERVICES
from fairway.proxy.iptables.port_rules import PortPlan
from fairway.proxy.model import Family, ServicePortName
from fairway.proxy.service_counts import Count, Reading, Totals, Traffic

Plans = Mapping[ServicePortName, PortPlan]
_CHOOSING, _EXTERNAL, _FIREWALL = ("KUBE-SVC-", "KUBE-SVL-"), "KUBE-EXT-", "KUBE-FW-"


class ConnectionCounts:
    """`count` is called from the thread that programs, what it returns from another."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._totals = Totals()

    def count(self, plans: Mapping[Family, Plans]) -> Count:
        def counted() -> Iterator[Figure]:
            found = (reading for family in plans for reading in self._read(family, plans[family]))
            self._totals.observe_all(list(found))
            return self._totals.figures({name for known in plans.values() for name in known})

        return counted

    def _read(self, family: Family, plans: Plans) -> Iterator[Reading]:
        owners, gates = _owners(plans)
        for chain in (SERVICES, NODEPORTS, *gates):
            for handle, target, packets in self._counters.rules(family, "nat", chain):
                if target in owners:
                    yield Reading((family, handle), owners[target], Traffic(packets))


def _owners(plans: Plans) -> tuple[dict[str, ServicePortName], list[str]]:
    """Whose connections are those that go to a chain; and the chains where source ranges are seen to, as
    there, and not on the way there, it shows who may come.
    """
    owners: dict[str, ServicePortName] = {}
    gates: list[str] = []
    for name, plan in plans.items():
        for chain, rules in plan.chains:
            # Unless its last rule leads on, strangers are dropped, as no endpoint is on this node.
            leads_on = chain.startswith(_EXTERNAL) and rules[-1].startswith("-j ")
            if leads_on or chain.startswith(_CHOOSING):
                owners[chain] = name
            elif chain.startswith(_FIREWALL):
                gates.append(chain)
    return owners, gates
