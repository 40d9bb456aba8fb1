"""Times are read and spelled as Go does for Kubernetes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.schema.timestamps import MICROSECONDS, SECONDS, BadTime, canonical

YEAR = "2006-01-02T15:04:05"


@pytest.mark.parametrize(
    ("text", "layout", "spelled"),
    [
        ("2020-01-01T02:00:00Z", SECONDS, "2020-01-01T02:00:00Z"),
        ("2020-01-01T02:00:00+02:00", SECONDS, "2020-01-01T00:00:00Z"),
        ("2020-02-29T23:30:00-01:00", SECONDS, "2020-03-01T00:30:00Z"),
        ("2020-01-01T02:00:00.999Z", SECONDS, "2020-01-01T02:00:00Z"),
        ("2020-01-01T02:00:00.500000Z", MICROSECONDS, "2020-01-01T02:00:00.500000Z"),
        ("0099-01-01T00:00:00Z", SECONDS, "0099-01-01T00:00:00Z"),
    ],
)
def test_times_are_stored_in_utc(text: str, layout: str, spelled: str) -> None:
    assert canonical(text, layout) == spelled


@pytest.mark.parametrize(
    ("text", "layout", "explanation"),
    [
        (
            "yesterday",
            MICROSECONDS,
            f'parsing time "yesterday" as "{YEAR}.000000Z07:00": cannot parse "yesterday" as "2006"',
        ),
        (
            "2020-01-01T00:00:00.5Z",
            MICROSECONDS,
            f'parsing time "2020-01-01T00:00:00.5Z" as "{YEAR}.000000Z07:00": '
            'cannot parse ".5Z" as ".000000"',
        ),
        (
            "2020-01-01T02:00:00Z",
            MICROSECONDS,
            f'parsing time "2020-01-01T02:00:00Z" as "{YEAR}.000000Z07:00": cannot parse "Z" as ".000000"',
        ),
        ("", SECONDS, f'parsing time "" as "{YEAR}Z07:00": cannot parse "" as "2006"'),
        ("2020-01-01", SECONDS, f'parsing time "2020-01-01" as "{YEAR}Z07:00": cannot parse "" as "T"'),
        (
            "2020-01-01T00:00:00",
            SECONDS,
            f'parsing time "2020-01-01T00:00:00" as "{YEAR}Z07:00": cannot parse "" as "Z07:00"',
        ),
        ("2020-13-01T00:00:00Z", SECONDS, 'parsing time "2020-13-01T00:00:00Z": month out of range'),
        ("2020-02-30T00:00:00Z", SECONDS, 'parsing time "2020-02-30T00:00:00Z": day out of range'),
        ("2020-01-01T24:00:00Z", SECONDS, 'parsing time "2020-01-01T24:00:00Z": hour out of range'),
        ("2020-01-01T00:00:00Zx", SECONDS, 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"'),
    ],
)
def test_other_texts_are_refused_in_the_words_of_go(text: str, layout: str, explanation: str) -> None:
    with pytest.raises(BadTime) as raised:
        canonical(text, layout)
    assert str(raised.value) == explanation


@given(st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9000, 1, 1)), st.integers(-23, 23))
def test_every_moment_is_spelled_in_utc_once_and_for_all(moment: datetime, hours: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(hours=hours)))
    spelled = canonical(aware.isoformat(timespec="microseconds"), MICROSECONDS)
    assert datetime.fromisoformat(spelled.replace("Z", "+00:00")) == aware
    assert canonical(spelled, MICROSECONDS) == spelled
