"""Label selectors in objects are checked before anything is selected with them."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.validation.quoting import render_value
from fairway.api.validation.selectors import shown_selector, validate_label_selector


def messages(*expressions: dict[str, Any], **labels: str) -> list[str]:
    selector = {"matchLabels": labels, "matchExpressions": list(expressions)}
    return [error.message() for error in validate_label_selector("s", selector)]


def test_sound_selectors_are_accepted() -> None:
    assert (
        messages(
            {"key": "a", "operator": "In", "values": ["x", ""]},
            {"key": "example.com/a", "operator": "NotIn", "values": ["x"]},
            {"key": "a", "operator": "Exists"},
            {"key": "a", "operator": "DoesNotExist", "values": []},
            app="web",
        )
        == []
    )
    assert validate_label_selector("s", None) == []


@pytest.mark.parametrize("operator", ["In", "NotIn"])
def test_a_choice_needs_values(operator: str) -> None:
    assert messages({"key": "a", "operator": operator, "values": []}) == [
        "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
    ]


@pytest.mark.parametrize("operator", ["Exists", "DoesNotExist"])
def test_existence_takes_no_values(operator: str) -> None:
    assert messages({"key": "a", "operator": operator, "values": ["x"]}) == [
        "s.matchExpressions[0].values: Forbidden: "
        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
    ]


def test_other_operators_are_unknown() -> None:
    assert messages({"key": "a", "operator": "Foo"}) == [
        's.matchExpressions[0].operator: Invalid value: "Foo": not a valid selector operator'
    ]


def test_keys_and_values_are_those_of_labels() -> None:
    found = messages({"key": "no good", "operator": "In", "values": ["x", "- -"]}, app="no good")
    assert [message.split(" must")[0] for message in found] == [
        's.matchLabels: Invalid value: "no good": a valid label',
        's.matchExpressions[0].key: Invalid value: "no good": name part',
        's.matchExpressions[0].values[1]: Invalid value: "- -": a valid label',
    ]


def test_a_selector_is_shown_in_declared_order_without_what_is_empty() -> None:
    selector = {
        "matchExpressions": [{"operator": "In", "values": [], "key": "a"}],
        "matchLabels": {"b": "2", "a": "1"},
    }
    assert render_value(shown_selector(selector)) == (
        '{"matchLabels":{"a":"1","b":"2"},"matchExpressions":[{"key":"a","operator":"In"}]}'
    )
    assert shown_selector(None) is None
    assert shown_selector({"matchLabels": {}}) == {}
