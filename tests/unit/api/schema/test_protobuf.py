"""Protobuf bodies of Go clients hold the same objects as JSON bodies do.

protobuf_vectors.jsonl was encoded by Google's protobuf library from the message descriptors that kubectl
carries, so neither its bytes nor its field numbers come from our table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.api.schema.conform import conform
from fairway.api.schema.protobuf import BadProtobuf, decode, decode_message
from fairway.api.schema.shape import shape_of

VECTORS = [
    json.loads(line) for line in Path(__file__).with_name("protobuf_vectors.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["object"]["kind"])
def test_an_object_is_the_same_in_protobuf_and_json(vector: dict[str, Any]) -> None:
    expected = vector["object"]
    shape = shape_of(expected["apiVersion"], expected["kind"])
    assert conform(decode(bytes.fromhex(vector["body"])), shape) == conform(expected, shape)


@pytest.mark.parametrize(
    ("struct", "data", "found"),
    [
        ("core.v1.ServicePort", "1850", {"port": 80}),
        ("core.v1.ServicePort", "0a0018ffffffffffffffffff01", {"name": "", "port": -1}),
        ("core.v1.ServicePort", "220408001050", {"targetPort": 80}),
        ("core.v1.ServicePort", "220508011a0161", {"targetPort": "a"}),
        ("core.v1.ServicePort", "1850fa0703616263f80701f5070000803ff1070000000000000000", {"port": 80}),
        ("core.v1.ServiceSpec", "12060a0161120162", {"selector": {"a": "b"}}),
        ("core.v1.ServiceSpec", "12030a0161", {"selector": {"a": ""}}),
        ("core.v1.PodSecurityContext", "20012002", {"supplementalGroups": [1, 2]}),
        ("core.v1.PodSecurityContext", "22020102", {"supplementalGroups": [1, 2]}),
        ("core.v1.ConfigMapKeySelector", "0a030a016112016b", {"name": "a", "key": "k"}),
        ("meta.v1.ObjectMeta", "4200", {"creationTimestamp": None}),
        ("meta.v1.ObjectMeta", "42060880f69a8d06", {"creationTimestamp": "2021-12-01T00:00:00Z"}),
    ],
)
def test_messages_are_read_by_hand_made_bytes(struct: str, data: str, found: dict[str, Any]) -> None:
    assert decode_message(bytes.fromhex(data), struct) == found


@pytest.mark.parametrize(
    ("data", "explanation"),
    [
        ("0a", "unexpected EOF"),
        ("0a0561", "unexpected EOF"),
        ("18" + "ff" * 11, "proto: integer overflow"),
        ("0b", "proto: illegal wireType 3"),
        ("00", "proto: illegal tag 0"),
        ("0801", "wrong wireType"),
        ("1a0161", "wrong wireType"),
    ],
)
def test_broken_messages_are_refused(data: str, explanation: str) -> None:
    with pytest.raises(BadProtobuf, match=explanation):
        decode_message(bytes.fromhex(data), "core.v1.ServicePort")


def test_the_envelope_may_leave_out_what_the_path_says() -> None:
    assert decode(b"k8s\0\x12\x00", "v1", "Pod") == {"apiVersion": "v1", "kind": "Pod"}


@given(st.sampled_from(VECTORS), st.data())
def test_damaged_bytes_are_read_or_refused_but_never_fatal(
    vector: dict[str, Any], data: st.DataObject
) -> None:
    body = bytearray.fromhex(vector["body"])
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(4, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode(bytes(body[: data.draw(st.integers(4, len(body)))]), "v1", "Pod")
    except BadProtobuf:
        pass
