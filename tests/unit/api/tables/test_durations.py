"""Durations are printed with the precision that Kubernetes gives them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fairway.api.tables.durations import age, human_duration, moment, short_human_duration, since

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-1, "0s"),
        (0, "0s"),
        (0.999, "0s"),
        (1, "1s"),
        (2 * MINUTE - 0.001, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 1, "2m1s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 59, "3h"),
        (3 * HOUR + MINUTE, "3h1m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR - 1, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR, "8y"),
        (100 * YEAR, "100y"),
    ],
)
def test_a_human_duration_loses_precision_as_it_grows(seconds: float, shown: str) -> None:
    assert human_duration(timedelta(seconds=seconds)) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (HOUR - 1, "59m"),
        (HOUR, "1h"),
        (DAY - 1, "23h"),
        (DAY, "1d"),
        (YEAR - 1, "364d"),
        (YEAR, "1y"),
    ],
)
def test_a_short_duration_has_a_single_unit(seconds: float, shown: str) -> None:
    assert short_human_duration(timedelta(seconds=seconds)) == shown


def test_the_age_of_an_object_without_a_creation_time_is_unknown() -> None:
    assert age({"metadata": {"creationTimestamp": None}}, NOW) == "<unknown>"
    assert age({}, NOW) == "<unknown>"


def test_the_age_counts_from_the_creation_time() -> None:
    assert age({"metadata": {"creationTimestamp": "2025-12-31T23:54:30Z"}}, NOW) == "5m30s"


def test_time_stamps_may_have_fractions_of_a_second() -> None:
    assert since(moment({"eventTime": "2025-12-31T23:59:00.500000Z"}, "eventTime"), NOW) == "59s"
