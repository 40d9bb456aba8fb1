"""The behaviour table through the rules that a mode writes, read as text: no packet is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from tests.behaviour.expectations import Case
from tests.behaviour.rows import SETTINGS as CONFIGURATIONS
from tests.behaviour.rows import TABLE
from tests.behaviour.traced import Tracer, answers, probabilities
from tests.unit.testing.nodes import MAKERS, SETTINGS, tracers

# iptables knows chances as parts of two to the power of 31.
ROUNDING = 1e-8
CASES = [(mode, case) for mode in MAKERS for case in TABLE if case.is_possible(mode)]
Nodes = Callable[[str, str], dict[str, Tracer]]


@pytest.fixture(scope="module")
def nodes() -> Nodes:
    return cache(lambda mode, setting: tracers(mode, replace(SETTINGS, **CONFIGURATIONS[setting])))


@pytest.mark.parametrize(
    ("mode", "case"), CASES, ids=lambda part: part if isinstance(part, str) else part.name
)
def test_a_row_of_the_table_holds_by_the_rules_text(nodes: Nodes, mode: str, case: Case) -> None:
    assert case.judge(answers(nodes(mode, case.row.setting), case), mode) == ""


@pytest.mark.parametrize("mode", MAKERS)
def test_all_endpoints_of_a_row_are_equally_likely(nodes: Nodes, mode: str) -> None:
    for case in TABLE:
        endpoints = case.expects(mode).endpoints
        if endpoints and case.is_possible(mode):
            found = probabilities(nodes(mode, case.row.setting), case)
            assert set(found) == endpoints, case.name
            assert all(abs(chance * len(endpoints) - 1) < ROUNDING for chance in found.values()), case.name
