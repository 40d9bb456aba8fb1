"""Quantities are accepted, refused and spelled as Kubernetes does."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.schema.quantity import (
    FORMAT_WRONG,
    SUFFIX_WRONG,
    BadQuantity,
    canonical,
    kept,
    total,
    value_of,
    whole,
)

SUFFIXES = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1)}
SUFFIXES |= {suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", 1)}
SUFFIXES |= {f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)}


@pytest.mark.parametrize(
    ("given_text", "spelled"),
    [
        ("0", "0"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("100m", "100m"),
        ("1000", "1k"),
        ("1000k", "1M"),
        ("1e3", "1e3"),
        ("1000e3", "1e6"),
        ("12e1", "120"),
        ("1E", "1E"),
        ("-1", "-1"),
        ("+5", "5"),
        ("0.1Ki", "102400m"),
        ("512Ki", "512Ki"),
        ("1023", "1023"),
        ("1Ki", "1Ki"),
        ("0Gi", "0"),
        ("-0", "0"),
        ("0.0001", "1m"),
        ("100u", "1m"),
        ("1n", "1m"),
        ("1.2345", "1235m"),
        ("110", "110"),
        ("1900Mi", "1900Mi"),
        ("100Ei", "9223372036854775807"),
        ("007", "7"),
        (".5", "500m"),
        ("1.", "1"),
        (" 1 ", "1"),
    ],
)
def test_amounts_in_resource_lists_are_canonical_and_rounded_up_to_thousandths(
    given_text: str, spelled: str
) -> None:
    assert canonical(given_text) == spelled


@pytest.mark.parametrize(
    ("given_text", "spelled"),
    [
        ("1024Mi", "1024Mi"),
        ("1000m", "1000m"),
        ("0.5", "0.5"),
        ("1.5Gi", "1536Mi"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("12345678901234567890", "12345678901234567890"),
    ],
)
def test_a_lone_quantity_keeps_its_spelling_if_it_fits_one_number(given_text: str, spelled: str) -> None:
    assert kept(given_text) == spelled


@pytest.mark.parametrize(
    ("text", "explanation"),
    [
        ("", FORMAT_WRONG),
        ("x", FORMAT_WRONG),
        ("1x", FORMAT_WRONG),
        ("1.5.2", FORMAT_WRONG),
        ("1 Gi", FORMAT_WRONG),
        ("1e3x", FORMAT_WRONG),
        ("1mm", SUFFIX_WRONG),
        ("1e", SUFFIX_WRONG),
        ("1m5", SUFFIX_WRONG),
        ("1KI", FORMAT_WRONG),
        ("1Kii", SUFFIX_WRONG),
    ],
)
def test_other_texts_are_refused(text: str, explanation: str) -> None:
    for spell in (canonical, kept):
        with pytest.raises(BadQuantity) as raised:
            spell(text)
        assert str(raised.value) == explanation


def worth(text: str) -> Decimal:
    digits = text.rstrip("numkKMGTPEi")
    return Decimal(digits) * SUFFIXES[text[len(digits) :]]


@given(
    st.integers(-(10**6), 10**6),
    st.integers(0, 999),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi"]),
)
def test_spelling_keeps_the_amount_and_is_final(whole: int, fraction: int, suffix: str) -> None:
    text = f"{whole}.{fraction:03}{suffix}"
    spelled = canonical(text)
    assert canonical(spelled) == spelled
    assert abs(worth(spelled)) - abs(worth(text)) < Decimal("0.001")
    assert abs(worth(spelled)) >= abs(worth(text))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["100m", "900m"], "1"),
        (["1Gi", "512Mi"], "1536Mi"),
        (["1", "1Gi"], "1073741825"),
        (["0", "1Gi"], "1Gi"),
        (["1k"], "1k"),
    ],
)
def test_a_total_is_spelled_in_the_notation_of_its_first_part(texts: list[str], expected: str) -> None:
    assert total(texts) == expected


@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(["m", "", "k", "Ki", "Mi"])), min_size=1))
def test_a_total_is_worth_its_parts(parts: list[tuple[int, str]]) -> None:
    texts = [canonical(f"{number}{suffix}") for number, suffix in parts]
    assert value_of(total(texts)) == sum(map(value_of, texts))


def test_parts_of_a_unit_are_rounded_up() -> None:
    assert whole("1001m") == 2
    assert whole("250m", "1m") == 250
    assert whole(2) == 2
