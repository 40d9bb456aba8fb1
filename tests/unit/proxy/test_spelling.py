"""Values as Kubernetes spells them."""

from __future__ import annotations

import pytest

from fairway.proxy import spelling


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("0s", 0.0),
        ("5s", 5.0),
        ("2h22m", 8520.0),
        ("1h0m0s", 3600.0),
        ("100ms", 0.1),
        ("1.5s", 1.5),
    ],
)
def test_durations_are_those_of_go(text: str, seconds: float) -> None:
    assert spelling.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-1s", "1d", "5s5"])
def test_what_go_does_not_take_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="write it as"):
        spelling.duration(text)


@pytest.mark.parametrize("seconds", [0.0, 0.25, 1.0, 59.0, 60.0, 3600.0, 8520.0, 86400.0])
def test_a_duration_that_is_written_is_read_as_the_same(seconds: float) -> None:
    assert spelling.duration(spelling.spell_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("0.0.0.0:10256", ("0.0.0.0", 10256)),
        ("[::]:80", ("::", 80)),
        ("127.0.0.1", ("127.0.0.1", 1)),
        ("::1", ("::1", 1)),
        ("[::1]", ("::1", 1)),
        ("", None),
    ],
)
def test_where_to_listen_is_an_address_with_or_without_a_port(
    text: str, where: tuple[str, int] | None
) -> None:
    assert spelling.listening(text, 1) == where


@pytest.mark.parametrize("text", ["here:80", ":80", "0.0.0.0:x", "0.0.0.0:70000"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        spelling.listening(text, 1)


def test_keywords_stand_for_ranges_of_node_addresses() -> None:
    assert spelling.node_ranges(["all"]) == ("0.0.0.0/0", "::/0")
    assert spelling.node_ranges(["localhost", "192.0.2.0/24"]) == ("127.0.0.0/8", "::1/128", "192.0.2.0/24")
    assert spelling.node_ranges(["primary"]) == ("primary",)


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("", None),
        ("0-0", None),
        ("30000-32767", (30000, 32767)),
        ("30000+10", (30000, 30010)),
        ("80", (80, 80)),
    ],
)
def test_port_ranges_are_kube_proxys(text: str, ports: tuple[int, int] | None) -> None:
    assert spelling.port_range(text) == ports
