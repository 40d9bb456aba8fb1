"""Examples do what their README shows on a whole cluster in ipvs mode: three nodes, in one machine.

All examples are played in the other modes (`tests/e2e/test_examples.py`). A machine of this kind is slow, so
here it is those about IPVS itself, and about what each mode does in a way of its own.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from .machine import has_nftables, run_in_uml

EXAMPLES = ("03-ipvs", "14-node-port", "15-load-balancer", "16-external-ip", "17-sticky")

pytestmark = [
    pytest.mark.skipif(not has_nftables(), reason="needs what `make uml-modules` builds"),
    pytest.mark.timeout(1300),
]


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    outcome = run_in_uml("tests.uml.examples", *EXAMPLES, memory="1G", timeout=1200, slowness=6)
    print(outcome.output)  # noqa: T201  (pytest shows it when something failed)
    return [json.loads(line) for line in outcome.check().splitlines() if line.startswith("{")]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_does_what_it_shows(example: str, lines: list[dict[str, Any]]) -> None:
    (played,) = (line for line in lines if line.get("example") == example)
    assert "error" not in played, played["error"]
    assert played["commands"] > 0


def test_no_node_takes_what_pods_and_other_nodes_do_for_damage(lines: list[dict[str, Any]]) -> None:
    (blamed,) = (line["blamed"] for line in lines if "blamed" in line)
    assert blamed == []


def test_a_cluster_that_is_taken_down_leaves_nothing_behind(lines: list[dict[str, Any]]) -> None:
    (found,) = (line["left_behind"] for line in lines if "left_behind" in line)
    assert found == []
