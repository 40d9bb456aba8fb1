"""Protobuf bodies that are partly sound: an envelope, then fields of the right numbers with odd contents."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

import fairway.api.schema

MEDIA = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
COLLECTIONS = {
    ("v1", "Service"): "/api/v1/namespaces/default/services",
    ("v1", "Endpoints"): "/api/v1/namespaces/default/endpoints",
    ("v1", "Pod"): "/api/v1/namespaces/default/pods",
    ("v1", "ConfigMap"): "/api/v1/namespaces/default/configmaps",
    ("v1", "Event"): "/api/v1/namespaces/default/events",
    ("v1", "Node"): "/api/v1/nodes",
    ("apps/v1", "Deployment"): "/apis/apps/v1/namespaces/default/deployments",
    ("discovery.k8s.io/v1", "EndpointSlice"): "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    ("coordination.k8s.io/v1", "Lease"): "/apis/coordination.k8s.io/v1/namespaces/default/leases",
}


@cache
def messages() -> dict[str, list[tuple[int, str, str]]]:
    path = Path(fairway.api.schema.__file__).with_name("messages.json")
    table: dict[str, list[tuple[int, str, str]]] = json.loads(path.read_text())["messages"]
    return table


def noise(chance: random.Random) -> tuple[str, bytes]:
    """A path to POST to, and a body."""
    (version, kind), path = chance.choice(list(COLLECTIONS.items()))
    group = version.rpartition("/")[0].partition(".")[0] or "core"
    raw = message(f"{group}.v1.{kind}", chance, depth=0)
    meta = field(1, version.encode()) + field(2, kind.encode())
    body = MAGIC + field(1, meta) + field(2, raw)
    turn = chance.random()
    if turn < 0.1:
        body = body[: chance.randrange(len(body))]
    elif turn < 0.3:
        at = chance.randrange(len(MAGIC), len(body))
        body = body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :]
    return path, body


def message(name: str, chance: random.Random, depth: int) -> bytes:
    """Some of a message's fields, each of its own type or, now and then, of another."""
    known = messages()
    fields = known.get(name, [])
    chosen = [row for row in fields if row[1] == "metadata" or chance.random() < 0.4 / (depth + 1)]
    return b"".join(field(number, content(code, chance, depth)) for number, _, code in chosen)


def content(code: str, chance: random.Random, depth: int) -> bytes | int:
    if chance.random() < 0.02:
        return chance.choice([0, 2**63, 2**64 - 1, b"", b"\xff\xfe", b"x" * 300, b"\x08"])
    inner = code.removeprefix("[]").removeprefix("&")
    if inner in messages():
        return message(inner, chance, depth + 1)
    if inner.startswith(("int", "bool", "uint")):
        return chance.choice([0, 1, 80, 70000, 2**31, 2**64 - 1])
    if inner == "time":
        return field(1, chance.choice([0, 1, 2**40, 2**63, 2**64 - 1])) + field(2, chance.randrange(2**33))
    if inner == "string":
        return chance.choice([b"a", b"web", b"", b"TCP", b"10.96.0.9", b"None", b"ClusterIP", b"web-1"])
    return field(1, chance.choice([b"a", 1])) + field(2, chance.choice([b"b", 2**40]))


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    return varint(number << 3 | DELIMITED) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
