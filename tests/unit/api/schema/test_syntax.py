"""Malformed JSON is explained as Go explains it; sound JSON is not complained of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.schema.syntax import explain


@pytest.mark.parametrize(
    ("document", "explanation"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b"tru", "unexpected end of JSON input"),
        (b"-", "unexpected end of JSON input"),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"{}}", "invalid character '}' after top-level value"),
        (b'"\n"', r"invalid character '\n' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12g4"', r"invalid character 'g' in \u hexadecimal character escape"),
        (b"nul}", "invalid character '}' in literal null (expecting 'l')"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b"01", "invalid character '1' after top-level value"),
        (b"'a'", r"invalid character '\'' looking for beginning of value"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
    ],
)
def test_the_fault_is_named_as_go_names_it(document: bytes, explanation: str) -> None:
    assert explain(document) == explanation


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, st.sampled_from([None, 1]), st.booleans())
def test_sound_json_is_not_complained_of(value: Any, indent: int | None, ascii_only: bool) -> None:
    assert explain(json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()) == ""


@given(st.binary(max_size=12))
def test_every_document_that_python_refuses_has_an_explanation(document: bytes) -> None:
    try:
        json.loads(document.decode("utf-8"), parse_constant=lambda word: 1 / 0)
    except (ValueError, ZeroDivisionError):
        text = document.decode("utf-8", "replace")
        try:
            json.loads(text, parse_constant=lambda word: 1 / 0)
        except (ValueError, ZeroDivisionError):
            assert explain(document)
