"""Bodies become objects, or the refusal kube-apiserver gives, in every accepted format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.errors import StatusError
from fairway.api.schema.body import JSON, PROTOBUF, YAML, read_object
from fairway.api.schema.json_body import decode_json, decode_members, has_repeated_members
from fairway.api.schema.strict import Members

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def refusal(body: bytes, media_type: str = JSON, kind: str = "ConfigMap", validation: str = "Warn") -> str:
    with pytest.raises(StatusError) as raised:
        read_object(body, media_type, "v1", kind, validation)
    assert (raised.value.code, raised.value.reason) == (400, "BadRequest")
    return raised.value.message


def test_apiversion_and_kind_are_taken_from_the_path_where_the_body_has_none() -> None:
    stored, warnings = read_object(b'{"metadata":{"name":"a"}}', JSON, "v1", "ConfigMap", "Strict")
    assert (stored, warnings) == (CONFIG_MAP, [])


def test_yaml_is_read_like_json() -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
    assert read_object(body, YAML, "v1", "ConfigMap", "Strict") == (CONFIG_MAP, [])


def test_delete_options_of_any_group_are_accepted() -> None:
    body = b'{"apiVersion":"apps/v1","kind":"DeleteOptions","gracePeriodSeconds":0}'
    stored, _ = read_object(body, JSON, "v1", "DeleteOptions", "Ignore")
    assert stored == {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "unexpected end of JSON input (<empty>)"),
        (b'{"apiVersion": "v1", ', 'unexpected end of JSON input ({"apiVersion": "v1", )'),
        (b"hello", "invalid character 'h' looking for beginning of value (68656c6c6f)"),
        (
            b"[]",
            "json: cannot unmarshal array into Go value of type struct { APIVersion string "
            r'"json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b5d)',
        ),
        (
            b'{"apiVersion": "v1", "kind": 5, "metadata": {}}',
            "json: cannot unmarshal number into Go struct field .kind of type string "
            '({"apiVersion": "v1", "kind": 5 ...)',
        ),
    ],
)
def test_a_body_that_does_not_say_what_it_is_is_unrecognized(body: bytes, complaint: str) -> None:
    unrecognized = "the object provided is unrecognized (must be of type ConfigMap)"
    assert refusal(body) == f"{unrecognized}: couldn't get version/kind; json parse error: {complaint}"


def test_another_kind_is_refused_after_it_was_read() -> None:
    assert refusal(b'{"apiVersion":"v1","kind":"Secret"}') == (
        'Secret in version "v1" cannot be handled as a ConfigMap: '
        "converting (v1.Secret) to (core.ConfigMap): unknown conversion"
    )
    assert "illegal base64" in refusal(b'{"apiVersion":"v1","kind":"Secret","data":{"a":"1"}}')


def test_the_right_kind_in_another_version_is_told_which_is_expected() -> None:
    with pytest.raises(StatusError) as raised:
        read_object(b'{"apiVersion":"apps/v1beta1","kind":"Deployment"}', JSON, "apps/v1", "Deployment")
    assert raised.value.message == (
        "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)"
    )


def test_the_number_in_a_message_is_spelled_as_the_client_spelled_it() -> None:
    body = b'{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":8e1}]}}'
    assert "cannot unmarshal number 8e1 into" in refusal(body, kind="Service")


def test_repeated_fields_are_reported_in_their_order_among_unknown_ones() -> None:
    body = (
        b'{"kind":"ConfigMap","x":1,"metadata":{"name":"a","name":"b"},"data":{"k":"1","k":"2"},"x":2,"y":0}'
    )
    errors = [
        'unknown field "x"',
        'duplicate field "metadata.name"',
        'duplicate field "data.k"',
        'unknown field "y"',
    ]
    stored, warnings = read_object(body, JSON, "v1", "ConfigMap", "Warn")
    assert (stored["metadata"], stored["data"], warnings) == ({"name": "b"}, {"k": "2"}, errors)
    assert refusal(body, validation="Strict").endswith(f": strict decoding error: {', '.join(errors)}")
    assert read_object(body, JSON, "v1", "ConfigMap", "Ignore") == (stored, [])


def test_an_object_given_twice_adds_up() -> None:
    body = b'{"metadata":{"name":"a"},"metadata":{"labels":{"x":"1"}}}'
    stored, warnings = read_object(body, JSON, "v1", "ConfigMap", "Warn")
    assert stored["metadata"] == {"name": "a", "labels": {"x": "1"}}
    assert warnings == ['duplicate field "metadata"']


def test_keys_given_twice_in_yaml_are_complained_of() -> None:
    body = b"kind: ConfigMap\ndata:\n  k: a\n  k: b\n"
    stored, warnings = read_object(body, YAML, "v1", "ConfigMap", "Warn")
    assert stored["data"] == {"k": "b"}
    assert warnings == ['yaml: unmarshal errors:\n  line 4: key "k" already set in map']
    assert "strict decoding error: yaml: unmarshal errors" in refusal(body, YAML, validation="Strict")


def test_broken_text_is_repaired_not_refused() -> None:
    assert decode_json(b'{"a":"\xff","b":"\\ud800"}') == {"a": "\ufffd", "b": "\ufffd"}


def test_deep_nesting_is_refused_in_every_format() -> None:
    assert "exceeded max depth" in refusal(b"[" * 100_000)
    assert "exceeded max depth" in refusal(b"[" * 100_000, YAML)
    assert "exceeded max depth" in refusal(b"- " * 100_000, YAML)


def test_protobuf_bodies_are_read_and_other_bytes_refused() -> None:
    body = bytes.fromhex(
        "6b387300" + "0a0f" + "0a027631" + "1209" + b"ConfigMap".hex() + "1205" + "0a03" + "0a0161"
    )
    assert read_object(body, PROTOBUF, "v1", "ConfigMap")[0] == CONFIG_MAP
    assert "does not appear to be a protobuf message" in refusal(b"{}", PROTOBUF)
    unknown = body.replace(b"ConfigMap", b"GadgetMap")
    assert 'no kind "GadgetMap" is registered for version "v1"' in refusal(unknown, PROTOBUF)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(alphabet='a"\\:{}é', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet='ab"\\:', max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(VALUES, st.booleans())
def test_a_document_without_repetition_is_known_to_have_none(value: Any, spaced: bool) -> None:
    body = json.dumps(value, ensure_ascii=not spaced, separators=None if spaced else (",", ":")).encode()
    assert not has_repeated_members(body, decode_json(body))


@given(st.lists(st.tuples(st.sampled_from(['"', "a", "b\\", ':"']), VALUES), max_size=5))
def test_a_repeated_member_is_never_missed(members: list[tuple[str, Any]]) -> None:
    body = (
        "{" + " , ".join(f"{json.dumps(name)} : {json.dumps(value)}" for name, value in members) + "}"
    ).encode()
    names = [name for name, _ in members]
    if len(set(names)) < len(names):
        assert has_repeated_members(body, decode_json(body))
    written = decode_members(body)
    assert isinstance(written, Members)
    assert [name for name, _ in written.written] == names
