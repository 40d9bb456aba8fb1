"""What the proxy makes of API objects."""

from __future__ import annotations

import pytest

from fairway.proxy.model import Family, Protocol, canonical, service_ports, slice_endpoints

from .objects import endpoint, endpoint_slice, service


@pytest.mark.parametrize(
    "ignored",
    [
        service(ip="None"),
        service(ip=""),
        service(type="ExternalName", externalName="db.example.com"),
        service(labels={"service.kubernetes.io/service-proxy-name": "other"}),
        service(labels={"service.kubernetes.io/headless": ""}),
    ],
)
def test_services_that_are_not_ours_to_carry_have_no_ports(ignored: object) -> None:
    assert list(service_ports(ignored)) == []  # type: ignore[arg-type]


def test_each_family_has_its_own_ports() -> None:
    both = service(clusterIPs=["10.96.0.80", "fd00:96::0050"], externalIPs=["203.0.113.1", "2001:db8::1"])
    four, six = service_ports(both)
    assert (four.name.family, four.cluster_ip, four.external_ips) == (
        Family.IPV4,
        "10.96.0.80",
        ("203.0.113.1",),
    )
    assert (six.name.family, six.cluster_ip, six.external_ips) == (
        Family.IPV6,
        "fd00:96::50",
        ("2001:db8::1",),
    )


def test_node_ports_count_only_for_types_that_have_them() -> None:
    assert [port.node_port for port in service_ports(service(nodePort=30061))] == [0]
    assert [port.node_port for port in service_ports(service(type="NodePort", nodePort=30061))] == [30061]


def test_load_balancer_addresses_count_unless_the_balancer_wants_the_traffic_itself() -> None:
    ingress = [
        {"ip": "203.0.113.1"},
        {"ip": "203.0.113.2", "ipMode": "Proxy"},
        {"hostname": "lb.example.com"},
    ]
    balanced = service(type="LoadBalancer", status={"loadBalancer": {"ingress": ingress}})
    assert [port.load_balancer_ips for port in service_ports(balanced)] == [("203.0.113.1",)]
    assert [
        port.load_balancer_ips
        for port in service_ports(service(status={"loadBalancer": {"ingress": ingress}}))
    ] == [()]


def test_overlapping_source_ranges_are_merged_and_wrong_ones_let_nobody_in() -> None:
    ranges = ["10.0.0.0/8", "10.1.0.0/16", " 192.0.2.7/24", "nonsense", "2001:db8::/32"]
    (port,) = service_ports(service(type="LoadBalancer", loadBalancerSourceRanges=ranges))
    assert port.source_ranges == ("10.0.0.0/8", "192.0.2.0/24")
    (port,) = service_ports(service(type="LoadBalancer", loadBalancerSourceRanges=["nonsense"]))
    assert port.source_ranges == ()
    (port,) = service_ports(service(type="LoadBalancer"))
    assert port.source_ranges is None


def test_affinity_lasts_three_hours_unless_said_otherwise() -> None:
    (port,) = service_ports(service(sessionAffinity="ClientIP"))
    assert port.affinity_seconds == 10800
    config = {"clientIP": {"timeoutSeconds": 60}}
    (port,) = service_ports(service(sessionAffinity="ClientIP", sessionAffinityConfig=config))
    assert port.affinity_seconds == 60
    (port,) = service_ports(service(sessionAffinityConfig=config))
    assert port.affinity_seconds == 0


def test_conditions_that_are_not_said_mean_ready_serving_and_staying() -> None:
    entry = {"addresses": ["10.244.0.1"]}
    ((name, found),) = slice_endpoints(endpoint_slice([entry], protocol="UDP"))
    assert (name.service, name.protocol) == ("default/web", Protocol.UDP)
    assert (found.ready, found.serving, found.terminating) == (True, True, False)
    ((_, found),) = slice_endpoints(endpoint_slice([endpoint("10.244.0.1", ready=False)]))
    assert (found.ready, found.serving) == (False, True)


@pytest.mark.parametrize(
    "address", ["nonsense", "", "10.0.0", "10.0.0.256", "10.0.0.1; flush ruleset", "01.2.3.4"]
)
def test_what_is_no_address_never_gets_further(address: str) -> None:
    assert canonical(address) == ""
    assert list(slice_endpoints(endpoint_slice([address]))) == []
    assert list(service_ports(service(ip=address or "None"))) == []


def test_addresses_have_one_spelling() -> None:
    assert canonical("FD00:0::0001") == "fd00::1"
    assert canonical("10.0.0.1") == "10.0.0.1"


def test_slices_of_names_and_of_the_wrong_family_are_ignored() -> None:
    assert list(slice_endpoints(endpoint_slice(["10.244.0.1"], kind="FQDN"))) == []
    assert list(slice_endpoints(endpoint_slice(["10.244.0.1"], kind="IPv6"))) == []
