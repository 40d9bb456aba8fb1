"""Random histories of Services, step by step on the real kernel."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings

from tests.behaviour.histories import Step, beginnings, histories
from tests.netns.proxy_benches import Bench, assert_steps_lead_where_a_fresh_start_leads
from tests.netns.topology import Network

from .ipvs_nodes import IpvsFleet


def check_step_by_step_leads_where_a_fresh_start_leads(net: Network, fleet: IpvsFleet) -> None:
    """On nodes of its own, as those of the network have Services already."""
    benches = Bench("steps"), Bench("fresh")

    @settings(
        max_examples=4,
        deadline=None,
        database=None,
        # Finding a shorter history would take minutes here, where each step is programmed twice.
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(beginning=beginnings(), history=histories(longest=8))
    def follow(beginning: list[Step], history: list[Step]) -> None:
        assert_steps_lead_where_a_fresh_start_leads("ipvs", benches, beginning, history)

    try:
        follow()
    finally:
        for bench in benches:
            bench.close()
