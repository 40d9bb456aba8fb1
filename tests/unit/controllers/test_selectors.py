"""Label selectors of workloads and nodes."""

from __future__ import annotations

import pytest

from fairway.controllers.selectors import LabelSelector, Requirement


@pytest.mark.parametrize(
    ("operator", "values", "labels", "matches"),
    [
        ("In", ["a", "b"], {"k": "a"}, True),
        ("In", ["a", "b"], {"k": "c"}, False),
        ("In", ["a"], {}, False),
        ("NotIn", ["a"], {"k": "b"}, True),
        ("NotIn", ["a"], {}, True),
        ("NotIn", ["a"], {"k": "a"}, False),
        ("Exists", None, {"k": ""}, True),
        ("Exists", None, {}, False),
        ("DoesNotExist", None, {}, True),
        ("DoesNotExist", None, {"k": "a"}, False),
        ("Gt", ["4"], {"k": "8"}, True),
        ("Gt", ["4"], {"k": "4"}, False),
        ("Lt", ["4"], {"k": "3"}, True),
        ("Lt", ["4"], {"k": "three"}, False),
        ("Sideways", ["4"], {"k": "4"}, False),
    ],
)
def test_a_requirement_matches(
    operator: str, values: list[str] | None, labels: dict[str, str], matches: bool
) -> None:
    assert Requirement("k", operator, values).matches(labels) is matches


def test_a_selector_wants_all_it_names_and_an_empty_one_nothing() -> None:
    selector = LabelSelector({"app": "web"}, [Requirement("tier", "Exists")])
    assert selector.matches({"app": "web", "tier": "front"})
    assert not selector.matches({"app": "web"})
    assert LabelSelector().matches(None)
    assert LabelSelector().empty
