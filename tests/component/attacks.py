"""Requests made to hurt, as data: what is sent, and the refusals that will do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.component.mutation import JSON, PATCHES, YAML
from tests.component.protobuf_noise import MAGIC, MEDIA, field

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
JSON_PATCH, MERGE, STRATEGIC, APPLY = PATCHES


def config_map(name: str, **rest: Any) -> bytes:
    metadata = {"name": name, **rest.pop("metadata", {})}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **rest}).encode()


def service(port: str) -> bytes:
    return b'{"metadata":{"name":"odd"},"spec":{"ports":[{"port":%b}]}}' % port.encode()


def pod(cpu: str) -> bytes:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return json.dumps({"metadata": {"name": "odd"}, "spec": {"containers": [container]}}).encode()


def laughs(levels: int) -> bytes:
    """Each level repeats the one before nine times."""
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join([*lines, "apiVersion: v1", "kind: ConfigMap", "metadata: {name: x}"]).encode()


@dataclass(frozen=True, slots=True)
class Attack:
    id: str
    method: str
    path: str
    body: bytes | None = None
    media: str = JSON
    statuses: tuple[int, ...] = (400,)


TARGET = f"{CONFIG_MAPS}/target"
DEEP = 100_000
ATTACKS = (
    Attack("arrays in arrays", "POST", CONFIG_MAPS, b"[" * DEEP),
    Attack("objects in objects", "POST", CONFIG_MAPS, b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    Attack(
        "a closed deep value",
        "POST",
        CONFIG_MAPS,
        config_map("x", y=None)[:-5] + b"[" * 9999 + b"]" * 9999 + b"}",
    ),
    Attack("DeleteOptions without end", "DELETE", TARGET, b"[" * DEEP),
    Attack("a deep merge patch", "PATCH", TARGET, b'{"a":' * DEEP + b"1" + b"}" * DEEP, MERGE),
    Attack("a deep strategic patch", "PATCH", TARGET, b'{"a":' * DEEP + b"1" + b"}" * DEEP, STRATEGIC),
    Attack(
        "a deep JSON patch",
        "PATCH",
        TARGET,
        b'[{"op":"add","path":"/data","value":' + b"[" * DEEP + b"]" * DEEP + b"}]",
        JSON_PATCH,
    ),
    Attack("YAML flows in flows", "POST", CONFIG_MAPS, b"[" * DEEP, YAML),
    Attack("YAML lists in lists", "POST", CONFIG_MAPS, b"- " * DEEP, YAML),
    Attack("YAML maps in maps", "POST", CONFIG_MAPS, b"".join(b" " * n + b"a:\n" for n in range(1500)), YAML),
    Attack("billion laughs", "POST", CONFIG_MAPS, laughs(12), YAML),
    Attack("billion laughs applied", "PATCH", f"{TARGET}?fieldManager=x", laughs(12), APPLY, (400, 415)),
    Attack(
        "YAML that contains itself",
        "POST",
        CONFIG_MAPS,
        b"kind: ConfigMap\nmetadata: &a {labels: *a}\n",
        YAML,
    ),
    Attack("YAML that calls Python", "POST", CONFIG_MAPS, b"!!python/object/apply:os._exit [1]", YAML),
    Attack("protobuf in protobuf", "POST", SERVICES, MAGIC + b"\x12\xff\xff\xff\xff\x0f" * 9999, MEDIA),
    Attack(
        "a protobuf length beyond the end",
        "POST",
        SERVICES,
        MAGIC + field(1, b"x") + b"\x12\xff\xff\xff\x7f",
        MEDIA,
    ),
    Attack("NaN", "POST", SERVICES, service("NaN")),
    Attack("Infinity", "POST", SERVICES, service("-Infinity")),
    Attack("a number too large for a float", "POST", SERVICES, service("1e999")),
    Attack("a number too large for a port", "POST", SERVICES, service("18446744073709551616")),
    Attack("an integer of 5,000 digits", "POST", SERVICES, service("9" * 5000)),
    Attack("an integer of 5,000 digits in YAML", "POST", SERVICES, service("9" * 5000), YAML),
    Attack("an integer of 5,000 digits in a patch", "PATCH", TARGET, b'{"data":%b}' % (b"9" * 5000), MERGE),
    Attack(
        "an index of 5,000 digits",
        "PATCH",
        f"{SERVICES}/kubernetes",
        b'[{"op":"add","path":"/spec/ports/%b","value":1}]' % (b"9" * 5000),
        JSON_PATCH,
        (422,),
    ),
    Attack("a quantity of 5,000 digits", "POST", PODS, pod("9" * 5000), statuses=(400, 422)),
    Attack("a quantity of a huge exponent", "POST", PODS, pod("1e999999999"), statuses=(400, 422)),
    Attack("a quantity of a tiny exponent", "POST", PODS, pod("1e-999999999"), statuses=(400, 422)),
    Attack(
        "a long text that is almost a quantity", "POST", PODS, pod("1" * 30_000 + "!"), statuses=(400, 422)
    ),
    Attack("a long name", "POST", CONFIG_MAPS, config_map("a" * 100_000 + "!"), statuses=(422,)),
    Attack("a name of many parts", "POST", CONFIG_MAPS, config_map("a." * 50_000), statuses=(422,)),
    Attack(
        "a long label",
        "POST",
        CONFIG_MAPS,
        config_map("x", metadata={"labels": {"a" * 99_999 + "/": "b-" * 50_000}}),
        statuses=(422,),
    ),
    Attack(
        "a selector of blanks", "GET", f"{CONFIG_MAPS}?labelSelector={'%20' * 16_000}", statuses=(200, 400)
    ),
    Attack("a selector of commas", "GET", f"{CONFIG_MAPS}?labelSelector={'a,' * 20_000}"),
    Attack("a selector of signs", "GET", f"{CONFIG_MAPS}?labelSelector={'!' * 50_000}"),
    Attack(
        "a selector of many values",
        "GET",
        f"{CONFIG_MAPS}?labelSelector=a+in+({'x,' * 20_000}x)",
        statuses=(200,),
    ),
    Attack(
        "a field selector of backslashes",
        "GET",
        f"{CONFIG_MAPS}?fieldSelector=metadata.name={'%5C' * 10_001}",
    ),
    Attack("a limit of 5,000 digits", "GET", f"{CONFIG_MAPS}?limit={'9' * 5000}"),
    Attack("a grace period of 5,000 digits", "DELETE", f"{CONFIG_MAPS}/none?gracePeriodSeconds={'9' * 5000}"),
    Attack("a version of 5,000 digits", "GET", f"{CONFIG_MAPS}?watch=1&resourceVersion={'9' * 5000}"),
    Attack(
        "a continue token of nonsense", "GET", f"{CONFIG_MAPS}?continue={'A' * 5000}", statuses=(400, 410)
    ),
    Attack(
        "a time of 5,000 digits",
        "POST",
        EVENTS,
        config_map("x", firstTimestamp="9" * 5000).replace(b"ConfigMap", b"Event"),
    ),
    Attack(
        "more operations than a patch may have",
        "PATCH",
        TARGET,
        json.dumps([{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001).encode(),
        JSON_PATCH,
        (413,),
    ),
    Attack(
        "managed fields of nonsense",
        "POST",
        CONFIG_MAPS,
        config_map(
            "owned",
            metadata={
                "managedFields": [
                    {
                        "manager": "x",
                        "operation": "Update",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:a": {"k:{": [1]}},
                    }
                ]
            },
        ),
        statuses=(201, 400, 409, 422),
    ),
    Attack("a deep applied object", "PATCH", f"{TARGET}?fieldManager=x", b"[" * DEEP, APPLY),
    Attack(
        "a deep value in an applied object",
        "PATCH",
        f"{TARGET}?fieldManager=x",
        config_map("target", data=None)[:-5] + b"{a: " * 5000 + b"1" + b"}" * 5001,
        APPLY,
    ),
    Attack(
        "a very long field manager",
        "PATCH",
        f"{TARGET}?fieldManager={'x' * 50_000}",
        b"{}",
        APPLY,
        (400, 422),
    ),
    Attack("compressed nonsense", "POST", CONFIG_MAPS, b"\x1f\x8b\x08junk"),
    Attack("bytes that are no text, in YAML", "POST", CONFIG_MAPS, b"a: \xff\xfe", YAML),
    Attack("a zero byte, in YAML", "POST", CONFIG_MAPS, b"a: \x00", YAML),
)
