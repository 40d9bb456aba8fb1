"""Rules that many fields share."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.validation.values import (
    validate_at_most_all,
    validate_domain_prefixed_path,
    validate_immutable,
    validate_non_negative,
    validate_number_or_percent,
    validate_one_of,
    validate_range,
)


def test_counts_are_not_negative() -> None:
    assert validate_non_negative("f", 0) == []
    (error,) = validate_non_negative("spec.replicas", -1)
    assert error.message() == "spec.replicas: Invalid value: -1: must be greater than or equal to 0"


@pytest.mark.parametrize(("new", "old"), [("a", "a"), (None, ""), ([], None), ({}, None), (0, None)])
def test_what_stays_or_is_empty_both_times_has_not_changed(new: Any, old: Any) -> None:
    assert validate_immutable("f", new, old) == []


@pytest.mark.parametrize(("new", "old"), [("a", "b"), (None, "a"), ("a", None), (1, 2)])
def test_what_is_fixed_cannot_change(new: Any, old: Any) -> None:
    (error,) = validate_immutable("f", new, old)
    assert error.detail == "field is immutable"


def test_a_value_is_one_of_those_there_are() -> None:
    assert validate_one_of("f", "TCP", {"TCP", "UDP"}) == []
    (error,) = validate_one_of("f", "tcp", {"UDP", "TCP"})
    assert error.text() == 'Unsupported value: "tcp": supported values: "TCP", "UDP"'


def test_a_number_lies_within_its_range() -> None:
    assert validate_range("f", 86400, 1, 86400) == []
    assert len(validate_range("f", 86401, 1, 86400)) == 1


def test_amounts_are_numbers_or_percentages() -> None:
    assert validate_number_or_percent("f", 0) == validate_number_or_percent("f", "25%") == []
    (error,) = validate_number_or_percent("f", "x")
    assert error.message() == (
        'f: Invalid value: "x": a valid percent string must be a numeric string followed by an ending '
        "'%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
    )
    assert len(validate_number_or_percent("f", -1)) == 1


def test_a_share_is_at_most_everything() -> None:
    assert validate_at_most_all("f", "100%") == validate_at_most_all("f", 150) == []
    (error,) = validate_at_most_all("f", "150%")
    assert error.text() == 'Invalid value: "150%": must not be greater than 100%'


def test_a_controller_is_a_path_behind_a_domain() -> None:
    assert validate_domain_prefixed_path("f", "example.com/x/y") == []
    assert [error.text() for error in validate_domain_prefixed_path("f", "")] == ["Required value"]
    for value in ("x", "/x", "example.com/"):
        (error,) = validate_domain_prefixed_path("f", value)
        assert error.detail == 'must be a domain-prefixed path (such as "acme.io/foo")'
    domain, path = validate_domain_prefixed_path("f", "A_b/ü")
    assert (domain.value, path.value) == ("A_b", "ü")
    assert path.detail == r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"
