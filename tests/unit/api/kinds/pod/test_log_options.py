"""What may be asked of a Pod's log."""

from __future__ import annotations

import pytest

from fairway.api.errors import StatusError
from fairway.api.kinds.pod.log_options import validate_log_options


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, []),
        ({"tailLines": "0", "limitBytes": "1", "sinceSeconds": "1", "follow": "true"}, []),
        ({"tailLines": "-1"}, ["tailLines: Invalid value: -1: must be greater than or equal to 0"]),
        ({"limitBytes": "0"}, ["limitBytes: Invalid value: 0: must be greater than 0"]),
        ({"sinceSeconds": "0"}, ["sinceSeconds: Invalid value: 0: must be greater than 0"]),
        (
            {"sinceSeconds": "5", "sinceTime": "2026-01-01T00:00:00Z"},
            ["[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"],
        ),
    ],
)
def test_a_fault_is_named(query: dict[str, str], expected: list[str]) -> None:
    assert [error.message() for error in validate_log_options(query)] == expected


def test_numbers_are_numbers() -> None:
    with pytest.raises(StatusError, match='parsing "many": invalid syntax') as refusal:
        validate_log_options({"tailLines": "many"})
    assert refusal.value.code == 400
