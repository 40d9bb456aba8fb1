"""Every conversation recorded from Kubernetes' own API server goes the same way with ours.

`golden_open.txt` lists the cases that are known not to: it can only shrink. Deliberate deviations are in
docs/compatibility.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.golden_cases import CORPORA, Case, cases, connect, deviations, differences, open_cases
from tests.conformance.server import api_server

ROWS = [pytest.param(corpus, case, id=case["id"]) for corpus in CORPORA for case in cases(corpus)]
OPEN = frozenset(open_cases())
DEVIATIONS = deviations()


class Recorded:
    """The server a corpus is replayed against, and the replayer's connection to it."""

    def __init__(self, api_server: Any) -> None:
        self.api_server = api_server
        self.connection = connect(api_server)


@pytest.fixture(scope="module")
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with api_server(tmp_path_factory.mktemp(request.param), *CORPORA[request.param]) as server:
        replay = Recorded(server)
        yield replay
        replay.connection.close()


@pytest.mark.parametrize(("recorded", "case"), ROWS, indirect=["recorded"], scope="module")
def test_conversation_goes_as_with_kubernetes(recorded: Recorded, case: Case) -> None:
    name = case["id"]
    found = differences(case, recorded.connection, DEVIATIONS.get(name))
    if name in OPEN:
        assert found, f"{name} holds now: take it out of golden_open.txt"
    else:
        assert not found, "\n".join([case["about"], *found])


def test_open_and_deviating_cases_are_recorded_ones() -> None:
    known = {case["id"] for corpus in CORPORA for case in cases(corpus)}
    assert len(OPEN) == len(open_cases())
    assert known >= OPEN
    assert known >= DEVIATIONS.keys()


def test_every_deviation_turns_a_server_error_into_a_clear_refusal() -> None:
    assert all(each.recorded >= 500 > each.ours >= 400 for each in DEVIATIONS.values())
