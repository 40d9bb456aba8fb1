"""Labels and selectors read as they do in `kubectl get -o wide`."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.tables.selector_text import labels_text, requirements_text, selector_text


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        (None, "<none>"),
        ({}, "<none>"),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        ({"matchLabels": {"a": ""}}, "a="),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]}, "a in (x,y)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, "a notin (x)"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a"),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, "!a"),
        (
            {
                "matchLabels": {"m": "1"},
                "matchExpressions": [
                    {"key": "z", "operator": "Exists"},
                    {"key": "b", "operator": "DoesNotExist"},
                ],
            },
            "!b,m=1,z",
        ),
        ({"matchExpressions": [{"key": "a", "operator": "Near"}]}, "<error>"),
    ],
)
def test_a_label_selector_is_one_line_in_the_order_of_keys(
    selector: dict[str, Any] | None, shown: str
) -> None:
    assert selector_text(selector) == shown


def test_an_empty_selector_has_no_requirements_to_show() -> None:
    assert requirements_text({}) == ""


def test_labels_are_sorted_by_key() -> None:
    assert labels_text({"b": "2", "a": "1"}) == "a=1,b=2"
    assert labels_text({}) == "<none>"
