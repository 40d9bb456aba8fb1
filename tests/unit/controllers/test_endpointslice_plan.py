"""EndpointSlices: what they say about each Pod, and the fewest writes that make them say it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.api.objects import ContainerPort, EndpointPort, EndpointSlice, Pod, Service
from fairway.api.objects import ServicePort as Port
from fairway.controllers.endpointslice.plan import Topology, plan, service_of
from fairway.controllers.slices import MANAGED_BY, SERVICE_NAME
from fairway.controllers.writes import Create, Delete, Patch, Write

from .objects import endpoint, endpoint_slice, pod, service

NODES = Topology({"n1": "za", "n2": "zb", "plain": ""})
NAMED = Port(80, "http", target_port="http")
OTHER = (ContainerPort(9090, "http"),)
TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"


def writes(
    svc: Service, pods: list[Pod], *existing: EndpointSlice, trigger: str | None = None
) -> list[Write]:
    return list(plan(svc, pods, existing, NODES, trigger).plan.writes)


def created(svc: Service, *pods: Pod) -> list[dict[str, Any]]:
    made = writes(svc, list(pods))
    assert all(isinstance(write, Create) for write in made)
    return [msgspec.to_builtins(write.obj) for write in made if isinstance(write, Create)]


def stored(svc: Service, *pods: Pod) -> list[EndpointSlice]:
    """The slices a first look creates, as the server would return them."""
    slices = []
    for number, body in enumerate(created(svc, *pods)):
        made = msgspec.convert(body, EndpointSlice)
        named = msgspec.structs.replace(
            made.metadata, name=f"web-{number}", uid=f"uid-{number}", resource_version="7"
        )
        slices.append(msgspec.structs.replace(made, metadata=named))
    return slices


@pytest.mark.parametrize(
    ("about", "given", "conditions"),
    [
        ("ready", pod("a", "10.0.0.1"), (True, True, False)),
        ("unready", pod("a", "10.0.0.1", ready=False), (False, False, False)),
        (
            "pending with an address",
            pod("a", "10.0.0.1", phase="Pending", ready=False),
            (False, False, False),
        ),
        ("terminating, still ready", pod("a", "10.0.0.1", going=True), (False, True, True)),
        ("terminating, unready", pod("a", "10.0.0.1", ready=False, going=True), (False, False, True)),
    ],
)
def test_conditions_tell_the_state_of_a_pod(about: str, given: Pod, conditions: tuple[bool, ...]) -> None:
    (made,) = created(service(), given)
    ((ready, serving, terminating),) = [tuple(e["conditions"].values()) for e in made["endpoints"]]
    assert (ready, serving, terminating) == conditions, about


def test_publish_not_ready_makes_ready_true_and_keeps_serving_honest() -> None:
    everything = service(publish_not_ready_addresses=True)
    pods = [pod("a", "10.0.0.1", ready=False), pod("b", "10.0.0.2", going=True)]
    (made,) = created(everything, *pods)
    assert [e["conditions"] for e in made["endpoints"]] == [
        {"ready": True, "serving": False, "terminating": False},
        {"ready": True, "serving": True, "terminating": True},
    ]


@pytest.mark.parametrize(
    "absent",
    [
        pod("a", phase="Pending", ready=False),
        pod("a", "10.0.0.1", phase="Failed"),
        pod("a", "10.0.0.1", phase="Succeeded"),
        pod("a", "fd00::1"),
        pod("a", "10.0.0.1", node="gone"),
    ],
    ids=["no address", "failed", "succeeded", "other family", "unknown node"],
)
def test_a_service_without_endpoints_still_has_one_empty_slice(absent: Pod) -> None:
    (made,) = created(service(), absent)
    assert (made["endpoints"], made["ports"], made["addressType"]) == ([], [], "IPv4")


def test_a_pod_on_an_unknown_node_is_waited_for() -> None:
    result = plan(service(), [pod("a", "10.0.0.1", node="gone")], [], NODES, None)
    assert result.missing_nodes == {"gone"}


def test_publish_not_ready_does_not_wait_for_the_node() -> None:
    (made,) = created(service(publish_not_ready_addresses=True), pod("a", "10.0.0.1", node="gone"))
    assert [e["addresses"] for e in made["endpoints"]] == [["10.0.0.1"]]


def test_an_endpoint_says_where_it_is_and_whose() -> None:
    given = pod("a", "10.0.0.1", hostname="first", subdomain="web", node="n2")
    (made,) = created(service(), given)
    (entry,) = made["endpoints"]
    assert entry == {
        "addresses": ["10.0.0.1"],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "hostname": "first",
        "nodeName": "n2",
        "zone": "zb",
        "targetRef": {"kind": "Pod", "namespace": "shop", "name": "a", "uid": "uid-a"},
    }


def test_a_node_without_zone_gives_none() -> None:
    (made,) = created(service(), pod("a", "10.0.0.1", node="plain"))
    assert "zone" not in made["endpoints"][0]


def test_a_slice_carries_the_services_labels_and_its_own() -> None:
    liar = {SERVICE_NAME: "liar", MANAGED_BY: "me", "team": "x"}
    (made,) = created(service(labels=liar, cluster_ip="None"))
    assert made["metadata"]["labels"] == {
        "team": "x",
        SERVICE_NAME: "web",
        MANAGED_BY: "endpointslice-controller.k8s.io",
        "service.kubernetes.io/headless": "",
    }
    assert made["metadata"]["generateName"] == "web-"
    assert made["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "uid-web",
         "controller": True, "blockOwnerDeletion": True}
    ]  # fmt: skip


def test_ports_always_have_a_name_even_if_empty() -> None:
    (made,) = created(service(), pod("a", "10.0.0.1"))
    assert made["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]


def test_pods_that_resolve_a_port_differently_are_in_different_slices() -> None:
    slices = created(service(NAMED), pod("a", "10.0.0.1"), pod("b", "10.0.0.2", ports=OTHER))
    assert [(s["ports"][0]["port"], len(s["endpoints"])) for s in slices] == [(8080, 1), (9090, 1)]


def test_a_pod_without_the_named_port_is_in_a_slice_without_that_port() -> None:
    (made,) = created(service(NAMED), pod("a", "10.0.0.1", ports=()))
    assert (made["ports"], len(made["endpoints"])) == ([], 1)


def test_every_family_of_the_service_has_slices_of_its_own() -> None:
    dual = service(ip_families=["IPv4", "IPv6"])
    slices = created(dual, pod("a", "10.0.0.1", "fd00::1"), pod("b", "10.0.0.2"))
    assert [(s["addressType"], [e["addresses"] for e in s["endpoints"]]) for s in slices] == [
        ("IPv4", [["10.0.0.1"], ["10.0.0.2"]]),
        ("IPv6", [["fd00::1"]]),
    ]


def test_a_family_the_service_gave_up_loses_its_slices() -> None:
    given = pod("a", "10.0.0.1", "fd00::1")
    both = stored(service(ip_families=["IPv4", "IPv6"]), given)
    assert writes(service(), [given], *both) == [
        Delete(_resource(), "shop", "web-1", "uid-1"),
    ]


def test_no_slice_holds_more_than_a_hundred() -> None:
    pods = [pod(f"p{i}", f"10.0.{i // 250}.{i % 250 + 1}") for i in range(250)]
    assert [len(s["endpoints"]) for s in created(service(), *pods)] == [100, 100, 50]


# ---- the fewest writes ---------------------------------------------------------------------------------


def _resource() -> Any:
    from fairway.api.resources import ENDPOINT_SLICES

    return ENDPOINT_SLICES


def test_nothing_is_written_when_nothing_differs() -> None:
    pods = [pod("a", "10.0.0.1"), pod("b", "10.0.0.2", node="n2", ready=False)]
    assert writes(service(), pods, *stored(service(), *pods), trigger="T") == []


def test_an_empty_slice_stays_as_it_is_while_there_are_no_endpoints() -> None:
    assert writes(service(), [], *stored(service())) == []


def test_a_change_of_one_pod_is_one_patch_of_one_slice() -> None:
    pods = [pod(f"p{i}", f"10.0.0.{i + 1}") for i in range(150)]
    slices = stored(service(), *pods)
    pods[120] = pod("p120", "10.0.0.121", ready=False)
    (write,) = writes(service(), pods, *slices, trigger="T")
    assert isinstance(write, Patch)
    assert write.name == "web-1"
    assert write.patch["metadata"] == {"resourceVersion": "7", "annotations": {TRIGGER: "T"}}
    assert "ports" not in write.patch


def test_the_first_endpoint_goes_into_the_empty_slice() -> None:
    (write,) = writes(service(), [pod("a", "10.0.0.1")], *stored(service()))
    assert isinstance(write, Patch)
    assert list(write.patch) == ["metadata", "endpoints", "ports"]


def test_the_last_endpoint_leaves_an_empty_slice_behind() -> None:
    (write,) = writes(service(), [], *stored(service(), pod("a", "10.0.0.1")))
    assert isinstance(write, Patch)
    assert (write.patch["endpoints"], write.patch["ports"]) == ([], [])


def test_other_ports_change_the_slice_in_place() -> None:
    given = pod("a", "10.0.0.1")
    (write,) = writes(service(Port(80, target_port=9090)), [given], *stored(service(), given))
    assert isinstance(write, Patch)
    assert write.patch["ports"] == [EndpointPort("", 9090, "TCP")]


def test_labels_alone_are_reason_enough() -> None:
    given = pod("a", "10.0.0.1")
    (write,) = writes(service(labels={"k": "v"}), [given], *stored(service(), given))
    assert isinstance(write, Patch)
    assert write.patch == {"metadata": {"resourceVersion": "7", "labels": {"k": "v"}}}


def test_a_label_someone_added_is_taken_off() -> None:
    given = pod("a", "10.0.0.1")
    (slice_,) = stored(service(), given)
    labels = {**(slice_.metadata.labels or {}), "mine": "1"}
    edited = endpoint_slice("web-0", endpoint(given), labels=labels)
    (write,) = writes(service(), [given], edited)
    assert isinstance(write, Patch)
    assert write.patch["metadata"]["labels"] == {"mine": None}


def test_the_trigger_time_alone_is_no_reason() -> None:
    given = pod("a", "10.0.0.1")
    assert writes(service(), [given], *stored(service(), given), trigger="later") == []


def test_slices_of_an_earlier_service_of_that_name_are_removed() -> None:
    given = pod("a", "10.0.0.1")
    former = endpoint_slice("web-old", endpoint(given), owner="uid-former")
    create, delete = writes(service(), [given], former)
    assert isinstance(create, Create)
    assert delete == Delete(_resource(), "shop", "web-old", "uid-web-old")


def test_a_service_that_is_going_makes_no_slices_and_lets_go_of_orphans() -> None:
    given = pod("a", "10.0.0.1")
    orphan = endpoint_slice("web-old", endpoint(given), owner="")
    assert writes(service(going=True), [given], orphan) == []


def test_a_slice_that_lost_its_label_is_found_by_its_owner() -> None:
    slice_ = endpoint_slice("web-0", labels={MANAGED_BY: "endpointslice-controller.k8s.io"})
    assert service_of(slice_) == "web"
