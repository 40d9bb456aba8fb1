"""The behaviour table, in every proxy mode, with real packets (spec 4.5 to 4.8).

The table is run once for a mode, as a whole; each of its cases is a test then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from fairway.proxy.modes import MODES
from tests.behaviour.flows import CHECKS

from .behaviour.fairness import fairness_checks
from .behaviour.table import Results, possible_cases, run_table
from .behaviour.world import has_sctp

HERE = [mode for mode in MODES if mode != "ipvs"]


@pytest.fixture(scope="module")
def results() -> Callable[[str], Results]:
    return cache(run_table)


@pytest.mark.parametrize("name", [case.name for case in possible_cases()])
@pytest.mark.parametrize("mode", HERE)
def test_a_row_of_the_table_holds(results: Callable[[str], Results], mode: str, name: str) -> None:
    assert results(mode)[name] == ""


@pytest.mark.skipif(not has_sctp(), reason="this kernel has no SCTP; the packet tracer covers those rows")
def test_rows_for_sctp_are_among_them() -> None:
    assert any(case.protocol == "sctp" for case in possible_cases())


@pytest.mark.parametrize(("mode", "name"), [(mode, name) for mode in HERE for name in fairness_checks(mode)])
def test_connections_are_spread(results: Callable[[str], Results], mode: str, name: str) -> None:
    assert results(mode)[name] == ""


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("mode", HERE)
def test_a_udp_flow_never_sticks_to_what_has_gone(
    results: Callable[[str], Results], mode: str, name: str
) -> None:
    assert results(mode)[name] == ""
