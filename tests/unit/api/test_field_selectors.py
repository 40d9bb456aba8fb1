"""Field selectors: terms, escapes, and complaints as Kubernetes words them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.selectors import SelectorError, parse_field_selector


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", []),
        (",", []),
        ("metadata.name=web", [("metadata.name", "=", "web")]),
        ("metadata.name==web", [("metadata.name", "=", "web")]),
        ("status.phase!=Failed", [("status.phase", "!=", "Failed")]),
        ("b=2,a=1", [("a", "=", "1"), ("b", "=", "2")]),
        ("a=", [("a", "=", "")]),
        (r"a=b\,c\=d\\e", [("a", "=", r"b,c=d\e")]),
        ("a= b", [("a", "=", " b")]),
    ],
)
def test_terms_are_read(text: str, requirements: list[tuple[str, str, str]]) -> None:
    assert list(parse_field_selector(text).requirements) == requirements


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "invalid selector: 'nonsense'; can't understand 'nonsense'"),
        ("a=1,b", "invalid selector: 'a=1,b'; can't understand 'b'"),
        (r"a=\b", r"invalid field selector: invalid escape sequence: \b"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_complaints_are_those_of_kubernetes(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_field_selector(text)
    assert str(caught.value) == message


def test_all_terms_must_hold() -> None:
    selector = parse_field_selector("spec.nodeName=n1,status.phase!=Failed")
    assert selector.matches({"spec.nodeName": "n1", "status.phase": "Running"})
    assert not selector.matches({"spec.nodeName": "n1", "status.phase": "Failed"})
    assert not selector.matches({"spec.nodeName": "n2", "status.phase": "Running"})
    assert parse_field_selector("").matches({})


def test_an_absent_field_is_empty() -> None:
    assert parse_field_selector("spec.nodeName=").matches({})
    assert parse_field_selector("spec.nodeName!=n1").matches({})
    assert not parse_field_selector("spec.nodeName=n1").matches({})


@given(st.text(), st.text("ab.", min_size=1))
def test_every_value_can_be_escaped(value: str, name: str) -> None:
    escaped = value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
    (requirement,) = parse_field_selector(f"{name}={escaped}").requirements
    assert requirement == (name, "=", value)
