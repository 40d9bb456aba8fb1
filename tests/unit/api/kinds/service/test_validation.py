"""Rules about one Service that the recordings don't cover, in Kubernetes' words and order."""

from __future__ import annotations

from typing import Any

import pytest

from .manifests import annotated, messages, service

QUALIFIED = "name part must consist of alphanumeric characters, '-', '_' or '.'"


@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"])
def test_a_plain_service_of_every_type_is_valid(kind: str) -> None:
    assert messages(service(kind)) == []


def test_a_headless_service_needs_no_ports() -> None:
    headless = {"clusterIP": "None", "clusterIPs": ["None"], "ports": None}
    assert messages(service(**headless)) == []
    assert messages(service(ports=None)) == ["spec.ports: Required value"]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (
            service(sessionAffinity="Cookie"),
            'spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"',
        ),
        (service("ExternalName", externalName=None), "spec.externalName: Required value"),
        (service("ExternalName", externalName="."), "spec.externalName: Required value"),
        (
            service("ExternalName", ipFamilyPolicy="SingleStack"),
            "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
        ),
        (
            service(allocateLoadBalancerNodePorts=True),
            "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
        ),
        (
            service("LoadBalancer", externalTrafficPolicy="Local"),
            "spec.healthCheckNodePort: Required value",
        ),
        (
            service(internalTrafficPolicy=""),
            'spec.internalTrafficPolicy: Unsupported value: "": supported values: "Cluster", "Local"',
        ),
        (
            service(ipFamilyPolicy=""),
            'spec.ipFamilyPolicy: Unsupported value: "": supported values: "PreferDualStack",'
            ' "RequireDualStack", "SingleStack"',
        ),
        (
            service(ipFamilies=["IPv4", "IPv4"], ipFamilyPolicy="PreferDualStack"),
            'spec.ipFamilies[1]: Duplicate value: "IPv4"',
        ),
        (service(clusterIPs=None), "spec.clusterIPs: Required value"),
    ],
)
def test_a_field_that_does_not_fit_is_named(obj: Any, expected: str) -> None:
    assert messages(obj) == [expected]


def test_names_of_ports_are_unique() -> None:
    ports = [{"name": "a", "port": 80}, {"name": "a", "port": 81}]
    assert messages(service(ports=ports)) == ['spec.ports[1].name: Duplicate value: "a"']


def test_a_node_port_may_be_shared_between_protocols_but_not_within_one() -> None:
    ports = [
        {"name": "a", "port": 53, "nodePort": 30053},
        {"name": "b", "port": 53, "protocol": "UDP", "nodePort": 30053},
        {"name": "c", "port": 54, "nodePort": 30053},
    ]
    assert messages(service("NodePort", ports=ports)) == ["spec.ports[2].nodePort: Duplicate value: 30053"]


def test_three_addresses_are_one_too_many() -> None:
    addresses = ["10.96.0.5", "fd00::5", "10.96.0.6"]
    shown = '["10.96.0.5","fd00::5","10.96.0.6"]'
    assert messages(service(clusterIPs=addresses)) == [
        f"spec.clusterIPs: Invalid value: {shown}: may only hold up to 2 values"
    ]


def test_addresses_have_to_be_of_the_families_that_are_named() -> None:
    obj = service(
        clusterIPs=["10.96.0.5", "fd00::5"],
        ipFamilies=["IPv6", "IPv4"],
        ipFamilyPolicy="RequireDualStack",
    )
    assert messages(obj) == [
        'spec.clusterIPs[0]: Invalid value: "10.96.0.5": expected an IPv6 value as indicated by '
        "`ipFamilies[0]`",
        'spec.clusterIPs[1]: Invalid value: "fd00::5": expected an IPv4 value as indicated by '
        "`ipFamilies[1]`",
    ]


def test_source_ranges_may_be_padded_but_have_to_be_networks() -> None:
    obj = service("LoadBalancer", loadBalancerSourceRanges=[" 10.0.0.0/8 ", "10.0.0.1/8", "010.0.0.1/8"])
    assert messages(obj) == [
        'spec.LoadBalancerSourceRanges[1]: Invalid value: "10.0.0.1/8": must not have bits set beyond the '
        "prefix "
        "length",
        'spec.LoadBalancerSourceRanges[2]: Invalid value: "010.0.0.1/8": must not have leading 0s in IP '
        "or prefix "
        "length",
    ]


def test_the_field_for_source_ranges_beats_the_annotation() -> None:
    name = "service.beta.kubernetes.io__load-balancer-source-ranges"
    obj = annotated(service("LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8"]), **{name: "x"})
    assert messages(obj) == []
    assert messages(annotated(service("LoadBalancer"), **{name: " "})) == []


def test_two_topology_annotations_must_agree() -> None:
    names = {
        "service.kubernetes.io__topology-mode": "Auto",
        "service.kubernetes.io__topology-aware-hints": "Disabled",
    }
    assert messages(annotated(service(), **names)) == [
        'metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Auto": must match '
        "annotations[service.kubernetes.io/topology-aware-hints] when both are specified"
    ]


def test_a_headless_service_can_not_be_published() -> None:
    for kind in ("NodePort", "LoadBalancer"):
        obj = service(kind, clusterIP="None", clusterIPs=["None"])
        expected = (
            f"spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for {kind} services"
        )
        assert messages(obj) == [expected]


def test_a_class_is_a_qualified_name() -> None:
    (message,) = messages(service("LoadBalancer", loadBalancerClass="a b"))
    assert message.startswith(f'spec.loadBalancerClass: Invalid value: "a b": {QUALIFIED}')


def test_special_external_addresses_are_refused_and_odd_ones_too() -> None:
    obj = service(externalIPs=["127.0.0.1", "::ffff:10.0.0.1"])
    assert messages(obj) == [
        'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, '
        "::1/128)",
        'spec.externalIPs[1]: Invalid value: "::ffff:10.0.0.1": must not be an IPv4-mapped IPv6 address',
    ]
