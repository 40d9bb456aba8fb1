"""The comparison of sessions with what kubectl shows must be able to fail."""

from __future__ import annotations

import pytest

from tests.conformance.kubectl_session import shows


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        ("service/web created", "service/web created\n"),
        ("NAME  AGE\nweb   <age>", "NAME   AGE\nweb    3m12s\n"),
        ("a\n...\nz", "a\nz\n"),
        ("a\n...\nz", "a\nb\nc\nz\n"),
        ("...\nb\n...", "a\nb\nb\nc\n"),
        ("?maybe\nalways", "always\n"),
        ("?maybe\nalways", "maybe\nalways\n"),
        ("<none>  <ip>", "<none>   10.96.0.1\n"),
        ("", ""),
    ],
)
def test_what_is_expected_is_recognised(expected: str, shown: str) -> None:
    assert shows(expected, shown)


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        ("service/web created", "service/web unchanged\n"),
        ("service/web created", ""),
        ("", "Warning: something\n"),
        ("NAME  AGE\nweb   <age>", "NAME  AGE\nweb   <unknown>\n"),
        ("a\nz", "a\nb\nz\n"),
        ("a\n...\nz", "a\nb\n"),
        ("always", "maybe\nalways\n"),
        ("10.96.0.1", "10x96y0z1\n"),
        ("NAME  AGE", "NAMEAGE\n"),
    ],
)
def test_what_differs_is_noticed(expected: str, shown: str) -> None:
    assert not shows(expected, shown)
