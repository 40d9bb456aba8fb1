"""The behaviour table, in every proxy mode, with real packets (spec 4.5 to 4.8).

The table is run once for a mode, as a whole; each of its cases is a test then. The host's kernel may lack
IPVS, so that mode runs in a user-mode Linux, which also has SCTP.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module

import pytest

from fairway.proxy.modes import MODES
from tests.behaviour.flows import CHECKS
from tests.behaviour.health import HEALTH_CHECKS

from .behaviour.fairness import fairness_checks
from .behaviour.table import Results, possible_cases, run_table
from .behaviour.world import has_sctp

ELSEWHERE = "ipvs"


def _every_check() -> Iterator[tuple[str, str]]:
    for mode in MODES:
        sctp = mode == ELSEWHERE or has_sctp()
        cases = (case.name for case in possible_cases(mode, sctp))
        names = (*cases, *HEALTH_CHECKS, *CHECKS, *fairness_checks(mode))
        for name in names:
            yield mode, name


def _in_machine(mode: str) -> Results:
    machine = import_module("tests.uml.machine")
    if not machine.is_available():
        pytest.skip("needs the package user-mode-linux")
    outcome = machine.run_in_uml("tests.netns.behaviour.table", mode, timeout=600)
    lines = [json.loads(line) for line in outcome.output.splitlines() if line.startswith('{"case"')]
    found = {line["case"]: line["wrong"] for line in lines}
    if outcome.status != 0:
        # The rest wasn't run: every case that is missing says why.
        return _Unfinished(found, f"status {outcome.status}: {outcome.output[-1500:]}")
    return found


class _Unfinished(dict[str, str]):
    def __init__(self, found: Results, why: str) -> None:
        super().__init__(found)
        self._why = why

    def __missing__(self, name: str) -> str:
        return self._why


@pytest.fixture(scope="module")
def results() -> Callable[[str], Results]:
    return cache(lambda mode: _in_machine(mode) if mode == ELSEWHERE else run_table(mode))


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("mode", "name"), list(_every_check()))
def test_the_behaviour_table_holds(results: Callable[[str], Results], mode: str, name: str) -> None:
    assert results(mode)[name] == ""
