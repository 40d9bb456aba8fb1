"""Hand-made Endpoints as EndpointSlices."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.api.objects import EndpointAddress, Endpoints, EndpointSlice, EndpointsPort, EndpointSubset
from fairway.controllers.endpointslicemirroring.plan import plan
from fairway.controllers.writes import Create, Delete, Patch

from .objects import meta, service

BARE = service(selector=None)
HTTP = EndpointsPort("http", 8080, "TCP")


def hand_made(*subsets: EndpointSubset, **fields: Any) -> Endpoints:
    return Endpoints(meta("web", uid="uid-ep", **fields), list(subsets))


def at(
    *ips: str, unready: tuple[str, ...] = (), ports: tuple[EndpointsPort, ...] = (HTTP,)
) -> EndpointSubset:
    return EndpointSubset(
        [EndpointAddress(ip) for ip in ips], [EndpointAddress(ip) for ip in unready], list(ports)
    )


def created(endpoints: Endpoints) -> list[dict[str, Any]]:
    made = plan(BARE, endpoints, []).writes
    return [msgspec.to_builtins(write.obj) for write in made if isinstance(write, Create)]


def mirrored(endpoints: Endpoints) -> list[EndpointSlice]:
    slices = []
    for number, body in enumerate(created(endpoints)):
        made = msgspec.convert(body, EndpointSlice)
        named = msgspec.structs.replace(made.metadata, name=f"web-{number}", resource_version="7")
        slices.append(msgspec.structs.replace(made, metadata=named))
    return slices


def test_ready_and_unready_addresses_are_told_apart() -> None:
    (made,) = created(hand_made(at("192.0.2.1", unready=("192.0.2.2",))))
    assert [(e["addresses"], e["conditions"]) for e in made["endpoints"]] == [
        (["192.0.2.1"], {"ready": True}),
        (["192.0.2.2"], {"ready": False}),
    ]
    assert made["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]


def test_an_address_in_both_lists_is_not_ready() -> None:
    (made,) = created(hand_made(at("192.0.2.1", unready=("192.0.2.1",))))
    assert [e["conditions"] for e in made["endpoints"]] == [{"ready": False}]


def test_subsets_of_the_same_ports_share_a_slice_others_do_not() -> None:
    other = (EndpointsPort("http", 9090, "TCP"),)
    slices = created(hand_made(at("192.0.2.1"), at("192.0.2.2"), at("192.0.2.3", ports=other)))
    assert [len(s["endpoints"]) for s in slices] == [2, 1]


def test_every_family_has_its_slice() -> None:
    slices = created(hand_made(at("2001:db8::1", "192.0.2.1")))
    assert [s["addressType"] for s in slices] == ["IPv4", "IPv6"]


def test_a_thousand_addresses_of_a_subset_are_mirrored() -> None:
    many = at(*(f"198.51.{i // 250}.{i % 250 + 1}" for i in range(1010)))
    assert [len(s["endpoints"]) for s in created(hand_made(many))] == [1000]


def test_labels_and_annotations_are_copied_but_those_about_the_object_itself() -> None:
    notes = {
        "note": "y",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "endpoints.kubernetes.io/last-change-trigger-time": "2020-01-01T00:00:00Z",
    }
    (made,) = created(hand_made(at("192.0.2.1"), labels={"team": "x"}, annotations=notes))
    assert made["metadata"]["annotations"] == {"note": "y"}
    assert made["metadata"]["labels"] == {
        "team": "x",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    }


def test_nothing_is_written_when_nothing_differs() -> None:
    endpoints = hand_made(at("192.0.2.1", "192.0.2.2"), labels={"a": "1"})
    assert not plan(BARE, endpoints, mirrored(endpoints))


@pytest.mark.parametrize(
    "changed",
    [
        hand_made(at("192.0.2.9")),
        hand_made(at("192.0.2.1", ports=(EndpointsPort("", 80, "TCP"),))),
        hand_made(at("192.0.2.1"), labels={"b": "2"}),
        hand_made(at("192.0.2.1"), annotations={"b": "2"}),
    ],
    ids=["addresses", "ports", "labels", "annotations"],
)
def test_a_change_updates_the_mirror_in_place(changed: Endpoints) -> None:
    (write,) = plan(BARE, changed, mirrored(hand_made(at("192.0.2.1")))).writes
    assert isinstance(write, Patch)
    assert write.name == "web-0"


@pytest.mark.parametrize(
    ("about", "svc", "endpoints"),
    [
        ("no Service", None, hand_made(at("192.0.2.1"))),
        ("a Service with selector", service(), hand_made(at("192.0.2.1"))),
        ("no Endpoints", BARE, None),
        ("opted out", BARE,
         hand_made(at("192.0.2.1"), labels={"endpointslice.kubernetes.io/skip-mirror": "true"})),
        ("a lock", BARE,
         hand_made(at("192.0.2.1"), annotations={"control-plane.alpha.kubernetes.io/leader": "{}"})),
        ("emptied", BARE, hand_made()),
    ],
)  # fmt: skip
def test_mirrors_go_when_there_is_nothing_to_mirror(about: str, svc: Any, endpoints: Any) -> None:
    before = mirrored(hand_made(at("192.0.2.1")))
    writes = plan(svc, endpoints, before).writes
    assert [type(write) for write in writes] == [Delete], about
    assert not plan(svc, endpoints, []).writes
