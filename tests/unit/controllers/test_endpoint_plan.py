"""Endpoints objects: which Pods are in them, how, and when they are written at all."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.api.objects import Container, ContainerPort, EndpointAddress, Endpoints, EndpointSubset, Pod
from fairway.api.objects import ServicePort as Port
from fairway.controllers.endpoint.plan import plan, plan_removal
from fairway.controllers.endpoint.subsets import truncated
from fairway.controllers.writes import Create, Delete, Patch

from .objects import meta, pod, service

NAMED = Port(80, "http", target_port="http")
OTHER = (ContainerPort(9090, "http"),)


def subsets(made: Create | Patch) -> list[dict[str, Any]]:
    body = made.obj if isinstance(made, Create) else made.patch
    return msgspec.to_builtins(body["subsets"]) or []


def shown(svc: Any, *pods: Pod) -> list[tuple[list[str], list[str], list[int]]]:
    """Ready addresses, unready addresses and ports of each subset."""
    (write,) = plan(svc, pods, None, None).writes
    assert isinstance(write, Create)
    return [
        (
            [a["ip"] for a in s.get("addresses", ())],
            [a["ip"] for a in s.get("notReadyAddresses", ())],
            [p["port"] for p in s.get("ports", ())],
        )
        for s in subsets(write)
    ]


@pytest.mark.parametrize(
    ("about", "pods", "expected"),
    [
        ("ready", [pod("a", "10.0.0.1")], [(["10.0.0.1"], [], [8080])]),
        ("unready", [pod("a", "10.0.0.1", ready=False)], [([], ["10.0.0.1"], [8080])]),
        ("no address yet", [pod("a", phase="Pending", ready=False)], []),
        ("pending with an address", [pod("a", "10.0.0.1", phase="Pending", ready=False)],
         [([], ["10.0.0.1"], [8080])]),
        ("terminating, still ready", [pod("a", "10.0.0.1", going=True)], []),
        ("failed", [pod("a", "10.0.0.1", phase="Failed")], []),
        ("succeeded", [pod("a", "10.0.0.1", phase="Succeeded")], []),
        ("only the other family", [pod("a", "fd00::1")], []),
        ("both families", [pod("a", "fd00::1", "10.0.0.1")], [(["10.0.0.1"], [], [8080])]),
        ("on a node nobody knows", [pod("a", "10.0.0.1", node="gone")], [(["10.0.0.1"], [], [8080])]),
        ("ready and unready", [pod("b", "10.0.0.2", ready=False), pod("a", "10.0.0.1")],
         [(["10.0.0.1"], ["10.0.0.2"], [8080])]),
        ("none", [], []),
    ],
)  # fmt: skip
def test_a_pod_is_listed_by_its_state(about: str, pods: list[Pod], expected: Any) -> None:
    assert shown(service(), *pods) == expected, about


def test_publish_not_ready_lists_everything_as_ready_terminating_pods_too() -> None:
    everything = service(publish_not_ready_addresses=True)
    pods = [pod("a", "10.0.0.1", ready=False), pod("b", "10.0.0.2", going=True)]
    assert shown(everything, *pods) == [(["10.0.0.1", "10.0.0.2"], [], [8080])]


def test_a_named_port_is_resolved_by_each_pod_for_itself() -> None:
    pods = [pod("a", "10.0.0.1"), pod("b", "10.0.0.2", ports=OTHER)]
    assert shown(service(NAMED), *pods) == [(["10.0.0.1"], [], [8080]), (["10.0.0.2"], [], [9090])]


def test_a_pod_without_the_named_port_drops_out() -> None:
    pods = [pod("a", "10.0.0.1"), pod("b", "10.0.0.2", ports=())]
    assert shown(service(NAMED), *pods) == [(["10.0.0.1"], [], [8080])]


def test_a_named_port_may_be_a_sidecars_but_not_an_init_containers() -> None:
    def with_init(policy: str | None) -> Pod:
        init = Container("init", ports=[ContainerPort(7000, "http")], restart_policy=policy)
        return pod("a", "10.0.0.1", ports=(), init_containers=[init])

    assert shown(service(NAMED), with_init("Always")) == [(["10.0.0.1"], [], [7000])]
    assert shown(service(NAMED), with_init(None)) == []


def test_ports_that_lead_to_the_same_addresses_share_a_subset() -> None:
    both = service(Port(80, "a", target_port=8080), Port(443, "b", target_port=8443))
    assert shown(both, pod("a", "10.0.0.1")) == [(["10.0.0.1"], [], [8080, 8443])]


def test_ports_some_pods_lack_get_a_subset_of_their_own() -> None:
    admin = (ContainerPort(8080, "http"), ContainerPort(9000, "admin"))
    two = service(NAMED, Port(9000, "admin", target_port="admin"))
    pods = [pod("a", "10.0.0.1", ports=admin), pod("b", "10.0.0.2")]
    assert shown(two, *pods) == [(["10.0.0.1"], [], [9000]), (["10.0.0.1", "10.0.0.2"], [], [8080])]


def test_pods_on_the_hosts_network_share_an_address_but_not_a_subset() -> None:
    pods = [
        pod("a", "192.0.2.1", host_network=True),
        pod("b", "192.0.2.1", ports=OTHER, host_network=True),
    ]
    assert shown(service(NAMED), *pods) == [(["192.0.2.1"], [], [8080]), (["192.0.2.1"], [], [9090])]


def test_a_headless_service_without_ports_lists_bare_addresses() -> None:
    headless = service(cluster_ip="None")
    bare = msgspec.structs.replace(headless, spec=msgspec.structs.replace(headless.spec, ports=[]))
    assert shown(bare, pod("a", "10.0.0.1")) == [(["10.0.0.1"], [], [])]


def test_an_address_says_whose_it_is() -> None:
    named = pod("a", "10.0.0.1", hostname="first", subdomain="web")
    (write,) = plan(service(), [named], None, None).writes
    assert isinstance(write, Create)
    assert subsets(write)[0]["addresses"] == [
        {
            "ip": "10.0.0.1",
            "hostname": "first",
            "nodeName": "n1",
            "targetRef": {"kind": "Pod", "namespace": "shop", "name": "a", "uid": "uid-a"},
        }
    ]


def test_a_hostname_shows_only_under_the_service_the_subdomain_names() -> None:
    elsewhere = pod("a", "10.0.0.1", hostname="first", subdomain="other")
    (write,) = plan(service(), [elsewhere], None, None).writes
    assert isinstance(write, Create)
    assert "hostname" not in subsets(write)[0]["addresses"][0]


# ---- writing only what differs -------------------------------------------------------------------------


def made(svc: Any, *pods: Pod, trigger: str | None = None) -> Endpoints:
    """The Endpoints object a first look creates, as the server would return it."""
    (write,) = plan(svc, pods, None, trigger).writes
    assert isinstance(write, Create)
    decoded = msgspec.convert(msgspec.to_builtins(write.obj), Endpoints)
    kept = msgspec.structs.replace(decoded.metadata, uid="uid-ep", resource_version="7")
    return msgspec.structs.replace(decoded, metadata=kept)


def test_nothing_is_written_when_nothing_differs() -> None:
    pods = [pod("a", "10.0.0.1"), pod("b", "10.0.0.2")]
    assert not plan(service(), pods, made(service(), *pods), "2026-01-01T00:00:00Z")


def test_the_order_of_addresses_in_the_stored_object_does_not_matter() -> None:
    pods = [pod("a", "10.0.0.1"), pod("b", "10.0.0.2")]
    stored = made(service(), *pods)
    (subset,) = stored.subsets or []
    turned = EndpointSubset(list(reversed(subset.addresses or [])), None, subset.ports)
    assert not plan(service(), pods, Endpoints(stored.metadata, [turned]), None)


def test_a_pod_that_fails_its_probe_moves_to_the_unready_ones() -> None:
    stored = made(service(), pod("a", "10.0.0.1"))
    (write,) = plan(service(), [pod("a", "10.0.0.1", ready=False)], stored, "T").writes
    assert isinstance(write, Patch)
    assert write.patch["metadata"]["resourceVersion"] == "7"
    assert [list(s) for s in subsets(write)] == [["notReadyAddresses", "ports"]]
    assert write.patch["metadata"]["annotations"] == {"endpoints.kubernetes.io/last-change-trigger-time": "T"}


def test_the_trigger_time_goes_with_a_change_that_has_none() -> None:
    stored = made(service(), pod("a", "10.0.0.1"), trigger="T")
    (write,) = plan(service(), [], stored, None).writes
    assert isinstance(write, Patch)
    assert write.patch["metadata"]["annotations"] == {
        "endpoints.kubernetes.io/last-change-trigger-time": None
    }
    assert write.patch["subsets"] is None


def test_labels_follow_the_service_and_say_who_manages() -> None:
    stored = made(service(labels={"team": "x", "old": "1"}))
    (write,) = plan(service(labels={"team": "y"}), [], stored, None).writes
    assert isinstance(write, Patch)
    assert write.patch["metadata"]["labels"] == {"team": "y", "old": None}
    assert stored.metadata.label("endpoints.kubernetes.io/managed-by") == "endpoint-controller"


def test_hand_made_endpoints_are_taken_over_by_a_service_with_selector() -> None:
    theirs = Endpoints(meta("web"), [EndpointSubset([EndpointAddress("203.0.113.1")])])
    (write,) = plan(service(), [pod("a", "10.0.0.1")], theirs, None).writes
    assert isinstance(write, Patch)
    assert [a["ip"] for a in subsets(write)[0]["addresses"]] == ["10.0.0.1"]


def test_endpoints_go_with_their_service() -> None:
    (write,) = plan_removal(Endpoints(meta("web"))).writes
    assert write == Delete(write.resource, "shop", "web", "uid-web")


# ---- capacity ------------------------------------------------------------------------------------------


def addresses(count: int, start: int = 0) -> list[EndpointAddress]:
    return [EndpointAddress(f"10.0.{i // 250}.{i % 250}") for i in range(start, start + count)]


def test_a_thousand_addresses_fit() -> None:
    whole = [EndpointSubset(addresses(1000))]
    assert truncated(whole) == (whole, False)


def test_beyond_a_thousand_unready_addresses_go_first() -> None:
    cut, was_cut = truncated([EndpointSubset(addresses(990), addresses(100, 990))])
    assert was_cut
    assert (len(cut[0].addresses or ()), len(cut[0].not_ready_addresses or ())) == (990, 10)


def test_beyond_a_thousand_ready_addresses_every_subset_gives_its_share() -> None:
    cut, _ = truncated([EndpointSubset(addresses(1500)), EndpointSubset(addresses(500, 1500))])
    assert [len(s.addresses or ()) for s in cut] == [750, 250]


def test_an_object_over_capacity_says_so_and_stops_saying_so() -> None:
    many = [pod(f"p{i}", f"10.0.{i // 250}.{i % 250 + 1}") for i in range(1001)]
    stored = made(service(), *many)
    assert stored.metadata.annotation("endpoints.kubernetes.io/over-capacity") == "truncated"
    (write,) = plan(service(), many[:999], stored, None).writes
    assert isinstance(write, Patch)
    assert write.patch["metadata"]["annotations"]["endpoints.kubernetes.io/over-capacity"] is None
