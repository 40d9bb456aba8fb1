"""YAML means what it means to kubectl and kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.schema.yaml_body import BadYaml, decode_yaml, decode_yaml_strictly


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("1", 1),
        ("-1", -1),
        ("+1", 1),
        ("0644", 420),
        ("0o644", 420),
        ("0x1F", 31),
        ("0b11", 3),
        ("1_000", 1000),
        ("1.5", 1.5),
        ("1.0", 1),
        ("1e3", 1000),
        (".5", 0.5),
        ("1:30", "1:30"),
        ("1.2.3", "1.2.3"),
        ("08", 8),
        ("yes", True),
        ("On", True),
        ("y", True),
        ("off", False),
        ("N", False),
        ("true", True),
        ("~", None),
        ("null", None),
        ("", None),
        ("2020-01-01", "2020-01-01"),
        ("'1'", "1"),
        ('"yes"', "yes"),
        ("!!str 5", "5"),
        ("None", "None"),
        ("=", "="),
    ],
)
def test_words_mean_what_go_takes_them_for(word: str, meaning: Any) -> None:
    found = decode_yaml(f"a: {word}\n".encode())
    assert found == {"a": meaning}
    assert type(found["a"]) is type(meaning)


def test_only_the_first_document_counts() -> None:
    assert decode_yaml(b"---\na: 1\n---\nb: 2\n") == {"a": 1}
    assert decode_yaml(b"# nothing\n") is None


def test_keys_become_text_in_order() -> None:
    assert list(decode_yaml(b"b: 1\n1: 2\non: 3\n").items()) == [("1", 2), ("b", 1), ("true", 3)]


def test_anchors_and_merges_are_spelled_out() -> None:
    found = decode_yaml(b"x: &x {a: 1, b: 2}\nz:\n  <<: *x\n  b: 3\nw: *x\n")
    assert found["z"] == {"a": 1, "b": 3}
    assert found["w"] == found["x"]
    assert found["w"] is not found["x"]


def test_json_is_yaml() -> None:
    assert decode_yaml_strictly(b'{"a": [1, "b"]}') == ({"a": [1, "b"]}, [])
    assert decode_yaml_strictly(b'{"a": 1, "a": 2}') == (
        {"a": 2},
        ['yaml: unmarshal errors:\n  line 1: key "a" already set in map'],
    )


@pytest.mark.parametrize(
    ("document", "explanation"),
    [
        (b"a: [", "yaml: line 1: did not find expected node content"),
        (b"a: b: c", "yaml: mapping values are not allowed in this context"),
        (b"a:\n\t- b", "yaml: line 2: found character that cannot start any token"),
        (b"a: *x", "yaml: unknown anchor 'x' referenced"),
        (b'a: "\x01"', "yaml: control characters are not allowed"),
        (b"\xff", "yaml: invalid leading UTF-8 octet"),
        (b"<<: 1", "yaml: map merge requires map or sequence of maps as the value"),
    ],
)
def test_faults_are_named_as_go_names_them(document: bytes, explanation: str) -> None:
    with pytest.raises(BadYaml) as raised:
        decode_yaml(document)
    assert str(raised.value) == explanation


def test_a_few_lines_of_aliases_cannot_stand_for_billions() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(BadYaml, match="excessive aliasing"):
        decode_yaml("\n".join(lines).encode())
