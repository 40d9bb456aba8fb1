"""Cutting bytes into watch events, wherever the chunks fall."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.client.watch_stream import WatchStream, identify

names = st.lists(st.text(max_size=8), max_size=6)


def lines(names: list[str]) -> bytes:
    return b"".join(
        json.dumps({"type": "ADDED", "object": {"metadata": {"name": name}}}).encode() + b"\n"
        for name in names
    )


def read(chunks: list[bytes]) -> list[str]:
    stream = WatchStream()
    events = [event for chunk in chunks for event in stream.feed(chunk)] + stream.close()
    return [identify(event.object).name for event in events]


@given(names, st.data())
def test_any_cut_of_the_bytes_gives_the_same_events(names: list[str], data: st.DataObject) -> None:
    whole = lines(names)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert read(chunks) == names


def test_a_last_line_without_newline_counts() -> None:
    assert read([lines(["a", "b"])[:-1]]) == ["a", "b"]


def test_empty_lines_are_no_events() -> None:
    assert read([b"\n\n", lines(["a"]), b"\n"]) == ["a"]


def test_a_torn_last_line_is_an_error() -> None:
    stream = WatchStream()
    stream.feed(b'{"type":"ADDED","obj')
    with pytest.raises(msgspec.DecodeError):
        stream.close()


def test_only_the_annotation_with_value_true_ends_initial_events() -> None:
    def bookmark(value: str) -> msgspec.Raw:
        annotations = {"k8s.io/initial-events-end": value}
        return msgspec.Raw(json.dumps({"metadata": {"annotations": annotations}}).encode())

    assert identify(bookmark("true")).ends_initial_events
    assert not identify(bookmark("false")).ends_initial_events
    assert not identify(msgspec.Raw(b'{"metadata":{}}')).ends_initial_events


def test_the_key_of_a_cluster_wide_object_is_its_name() -> None:
    assert identify(msgspec.Raw(b'{"metadata":{"name":"n1"}}')).key == "n1"
    assert identify(msgspec.Raw(b'{"metadata":{"name":"n1","namespace":"ns"}}')).key == "ns/n1"
