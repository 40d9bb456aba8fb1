from decimal import Decimal

import pytest

from fairway.nodeagent import quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("250m", "0.25"),
        ("1", "1"),
        ("64Mi", "67108864"),
        ("1k", "1000"),
        ("1.5Gi", "1610612736"),
        ("1e3", "1000"),
    ],
)
def test_quantities_are_exact(text: str, value: str) -> None:
    assert quantity.parse(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "Mi", "12x", "1 Gi"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        quantity.parse(text)


def test_parts_of_a_unit_are_rounded_up() -> None:
    assert quantity.whole("1001m") == 2
    assert quantity.whole("250m", "1m") == 250
