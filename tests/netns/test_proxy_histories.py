"""Whatever happens to Services, step by step the kernel gets to where a fresh start would have brought it.

The ipvs mode does so in user-mode Linux (`tests/uml/checks_histories.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from fairway.proxy import modes
from tests.behaviour.histories import Step, beginnings, histories

from .proxy_benches import Bench, assert_steps_lead_where_a_fresh_start_leads

HERE = [mode for mode in modes.MODES if mode != "ipvs"]


@pytest.fixture
def benches() -> Iterator[tuple[Bench, Bench]]:
    both = Bench("steps"), Bench("fresh")
    yield both
    for bench in both:
        with bench.opened("userspace") as relayed:
            bench.run(relayed.remove)  # its relay outlives whoever started it
        bench.close()


@pytest.mark.parametrize("mode", HERE)
@given(beginning=beginnings(), history=histories(longest=8))
@settings(
    max_examples=6,
    deadline=None,
    # Finding a shorter history would take minutes here, where each step is programmed twice.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_step_by_step_leads_where_a_fresh_start_leads(
    benches: tuple[Bench, Bench], mode: str, beginning: list[Step], history: list[Step]
) -> None:
    assert_steps_lead_where_a_fresh_start_leads(mode, benches, beginning, history)
