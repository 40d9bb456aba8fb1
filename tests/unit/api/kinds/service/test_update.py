"""Changing a Service: what the new type clears, what the client's silence keeps, what may not change."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairway.api.kinds.service import SERVICE
from fairway.api.kinds.service.keep import keep_allocated, relink_addresses

from .manifests import Obj, service, update_messages


def changed(old: Obj, **spec: Any) -> Obj:
    """The stored Service sent back with a few fields changed, as a patch does."""
    new = copy.deepcopy(old)
    new["spec"] |= spec
    new["spec"] = {name: value for name, value in new["spec"].items() if value is not None}
    SERVICE.default(new)
    SERVICE.prepare_update(new, old)
    return new


def published(kind: str = "NodePort", **spec: Any) -> Obj:
    return service(kind, ports=[{"port": 80, "nodePort": 30080}], **spec)


def test_leaving_node_ports_behind_clears_them_and_the_policy() -> None:
    new = changed(published(), type="ClusterIP")
    assert "nodePort" not in new["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in new["spec"]
    assert update_messages(new, published()) == []


def test_a_node_port_that_was_not_there_before_is_the_clients_own_mistake() -> None:
    old = published()
    new = changed(old, type="ClusterIP", ports=[{"port": 80, "nodePort": 30081}])
    assert update_messages(new, old) == [
        "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"
    ]


def test_leaving_a_load_balancer_clears_its_fields_and_its_status() -> None:
    old = published("LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=30001)
    old["spec"]["loadBalancerClass"] = "example.com/x"
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}, "conditions": [{"type": "x"}]}
    new = changed(old, type="NodePort")
    gone = ("healthCheckNodePort", "loadBalancerClass", "allocateLoadBalancerNodePorts")
    assert not any(name in new["spec"] for name in gone)
    assert new["spec"]["externalTrafficPolicy"] == "Local"
    assert new["status"] == {"loadBalancer": {}, "conditions": [{"type": "x"}]}
    assert old["status"]["loadBalancer"]["ingress"]
    assert update_messages(new, old) == []


def test_becoming_an_external_name_gives_up_addresses_and_families() -> None:
    old = service()
    new = changed(old, type="ExternalName", externalName="a.b")
    for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
        assert name not in new["spec"]
    assert update_messages(new, old) == []


def test_an_address_changed_along_with_the_type_is_judged() -> None:
    old = service()
    new = changed(old, type="ExternalName", externalName="a.b", clusterIPs=["10.96.0.6"])
    assert update_messages(new, old) == [
        "spec.clusterIPs: Forbidden: may not be set for ExternalName services"
    ]


def test_dropping_external_ips_drops_their_policy() -> None:
    old = service(externalIPs=["192.0.2.1"])
    new = changed(old, externalIPs=None)
    assert "externalTrafficPolicy" not in new["spec"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"clusterIP": "10.96.0.6", "clusterIPs": ["10.96.0.6"]},
            'spec.clusterIPs[0]: Invalid value: ["10.96.0.6"]: may not change once set',
        ),
        (
            {"ipFamilies": ["IPv6"]},
            'spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set',
        ),
    ],
)
def test_addresses_and_families_are_set_once(spec: Any, expected: str) -> None:
    old = service()
    assert expected in update_messages(changed(old, **spec), old)


def test_the_health_check_port_of_a_load_balancer_is_set_once() -> None:
    old = published("LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=30001)
    new = changed(old, healthCheckNodePort=30002)
    assert update_messages(new, old) == ["spec.healthCheckNodePort: Forbidden: field is immutable"]


def test_a_secondary_address_is_released_by_policy_only() -> None:
    old = service(
        clusterIPs=["10.96.0.5", "fd00::5"],
        ipFamilies=["IPv4", "IPv6"],
        ipFamilyPolicy="PreferDualStack",
    )
    new = changed(old, clusterIPs=["10.96.0.5"], ipFamilies=["IPv4"])
    policy = 'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to'
    assert update_messages(new, old) == [
        f"{policy} 'SingleStack' when releasing the secondary clusterIP",
        f"{policy} 'SingleStack' when releasing the secondary ipFamily",
    ]


def test_finalizers_are_looked_at_again() -> None:
    old = service()
    new = changed(old)
    new["metadata"]["finalizers"] = ["plain"]
    (message,) = update_messages(new, old)
    assert message.startswith('metadata.finalizers[0]: Invalid value: "plain": name is neither')


# -- what is kept ------------------------------------------------------------------------------------------


def kept(before: Obj, **spec: Any) -> Obj:
    fresh = {"type": before["type"], "ports": [{"port": 80}], "externalTrafficPolicy": "Cluster"} | spec
    if fresh["type"] == "LoadBalancer":
        fresh.setdefault("allocateLoadBalancerNodePorts", True)
    keep_allocated(fresh, before)
    relink_addresses(fresh, before)
    return fresh


def test_the_same_manifest_again_keeps_address_and_node_port() -> None:
    before = published()["spec"]
    fresh = kept(before)
    assert (fresh["clusterIP"], fresh["clusterIPs"]) == ("10.96.0.5", ["10.96.0.5"])
    assert fresh["ports"][0]["nodePort"] == 30080


def test_a_node_port_follows_the_name_of_its_port() -> None:
    before = service(
        "NodePort",
        ports=[{"name": "a", "port": 1, "nodePort": 30001}, {"name": "b", "port": 2, "nodePort": 30002}],
    )["spec"]
    fresh = kept(before, ports=[{"name": "b", "port": 9}, {"name": "a", "port": 1, "nodePort": 30003}])
    assert [port["nodePort"] for port in fresh["ports"]] == [30002, 30003]


def test_a_node_port_that_moved_to_another_port_is_not_kept_twice() -> None:
    before = service("NodePort", ports=[{"name": "a", "port": 1, "nodePort": 30001}])["spec"]
    fresh = kept(before, ports=[{"name": "a", "port": 1}, {"name": "b", "port": 2, "nodePort": 30001}])
    assert [port.get("nodePort") for port in fresh["ports"]] == [None, 30001]


def test_a_load_balancer_that_wants_no_node_ports_gives_them_back_when_it_leaves_them_out() -> None:
    before = published("LoadBalancer", allocateLoadBalancerNodePorts=False)["spec"]
    assert "nodePort" not in kept(before, allocateLoadBalancerNodePorts=False)["ports"][0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.5"]}, ("10.96.0.9", ["10.96.0.9"])),
        ({"clusterIP": "10.96.0.9"}, ("10.96.0.9", ["10.96.0.9"])),
        ({"clusterIPs": ["10.96.0.5"]}, ("10.96.0.5", ["10.96.0.5"])),
        ({"clusterIP": "10.96.0.5", "clusterIPs": ["10.96.0.9"]}, ("10.96.0.5", ["10.96.0.9"])),
        ({}, ("10.96.0.5", ["10.96.0.5"])),
    ],
)
def test_a_change_of_the_one_address_is_meant_for_the_list_too(given: Any, expected: Any) -> None:
    fresh = kept(service()["spec"], **given)
    assert (fresh["clusterIP"], fresh["clusterIPs"]) == expected
