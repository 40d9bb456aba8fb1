"""Who gets which address: a table of situations on the pure plan."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.lb.allocation.model import request
from fairway.lb.allocation.plan import Outcome, allocate
from fairway.lb.allocation.pools import PoolError, read_pools
from fairway.lb.objects import Service

SMALL = """
address-pools:
- name: small
  protocol: layer2
  addresses: [10.0.0.1-10.0.0.3]
- name: by-name
  protocol: layer2
  auto-assign: false
  addresses: [10.0.9.0/30]
- name: six
  protocol: layer2
  addresses: ["fd00::/64"]
"""


def service(name: str, **changes: Any) -> Service:
    annotations = changes.pop("annotations", {})
    current = changes.pop("current", [])
    created = changes.pop("created", "2026-01-01T00:00:00Z")
    spec = {
        "type": "LoadBalancer",
        "ports": [{"port": 80, "protocol": "TCP"}],
        "ipFamilies": ["IPv4"],
    } | changes
    manifest = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "annotations": annotations,
            "creationTimestamp": created,
        },
        "spec": spec,
        "status": {"loadBalancer": {"ingress": [{"ip": ip, "ipMode": "VIP"} for ip in current]}},
    }
    return msgspec.convert(manifest, Service)


def decide(*services: Service, pools: str = SMALL, taken: dict[Any, str] | None = None) -> dict[str, Outcome]:
    outcomes = allocate(read_pools(pools), [request(s) for s in services], taken or {})
    return {key.removeprefix("ns/"): outcome for key, outcome in outcomes.items()}


def given(*services: Service, **more: Any) -> dict[str, list[str]]:
    return {name: [str(a) for a in o.addresses] for name, o in decide(*services, **more).items()}


def shared(name: str, port: int, key: str = "k", **changes: Any) -> Service:
    annotations = {"metallb.universe.tf/allow-shared-ip": key}
    return service(name, annotations=annotations, ports=[{"port": port, "protocol": "TCP"}], **changes)


def test_the_first_free_addresses_are_given_out_the_oldest_service_first() -> None:
    younger, older = service("a", created="2026-02-01T00:00:00Z"), service("b")
    assert given(younger, older) == {"b": ["10.0.0.1"], "a": ["10.0.0.2"]}


def test_who_has_an_address_keeps_it_over_a_restart_whatever_comes_before_it() -> None:
    assert given(service("a"), service("b", current=["10.0.0.1"])) == {"a": ["10.0.0.2"], "b": ["10.0.0.1"]}


def test_an_exhausted_pool_says_so_and_serves_when_something_is_freed() -> None:
    full = [service(f"s{n}", current=[f"10.0.0.{n}"]) for n in (1, 2, 3)]
    outcome = decide(*full, service("late"))["late"]
    assert outcome.reason == "NoAddressFree"
    assert "small" in outcome.message
    assert "extend the pool" in outcome.message
    assert given(*full[1:], service("late"))["late"] == ["10.0.0.1"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"loadBalancerIP": "10.0.0.3"}, ["10.0.0.3"]),
        ({"loadBalancerIP": "10.0.9.2"}, ["10.0.9.2"]),
        ({"annotations": {"metallb.io/loadBalancerIPs": "10.0.0.2"}}, ["10.0.0.2"]),
        ({"annotations": {"fairway.dev/address-pool": "by-name"}}, ["10.0.9.0"]),
        ({"ipFamilies": ["IPv6"]}, ["fd00::"]),
        ({"ipFamilies": ["IPv6", "IPv4"]}, ["fd00::", "10.0.0.1"]),
        (
            {
                "ipFamilies": ["IPv4", "IPv6"],
                "annotations": {"metallb.io/loadBalancerIPs": "fd00::5, 10.0.0.2"},
            },
            ["10.0.0.2", "fd00::5"],
        ),
        ({"loadBalancerIP": "10.0.0.2", "current": ["10.0.0.1"]}, ["10.0.0.2"]),
        ({"current": ["192.168.0.1"]}, ["10.0.0.1"]),
        ({"ipFamilies": ["IPv4", "IPv6"], "current": ["10.0.0.3"]}, ["10.0.0.3", "fd00::"]),
    ],
)
def test_what_is_asked_for_is_given(changes: dict[str, Any], expected: list[str]) -> None:
    assert given(service("a", **changes))["a"] == expected


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        ({"loadBalancerIP": "10.1.0.1"}, "AddressUnavailable", "is in no pool"),
        ({"loadBalancerIP": "10.0.0.2"}, "AddressUnavailable", "belongs to node n"),
        ({"loadBalancerIP": "fd00::1"}, "WrongFamily", "ipFamilies"),
        ({"loadBalancerIP": "x\ny"}, "InvalidRequest", "not an address"),
        (
            {"annotations": {"metallb.io/loadBalancerIPs": "10.0.0.1,10.0.0.2"}},
            "InvalidRequest",
            "one of each",
        ),
        ({"annotations": {"metallb.io/address-pool": "none"}}, "NoSuchPool", "by-name"),
        (
            {"ipFamilies": ["IPv6"], "annotations": {"fairway.dev/address-pool": "small"}},
            "NoAddressFree",
            "no IPv6",
        ),
        (
            {"annotations": {"service.beta.kubernetes.io/aws-load-balancer-backend-protocol": "gopher"}},
            "InvalidRequest",
            "must be one of tcp, ssl, http, https",
        ),
    ],
)
def test_what_cannot_be_given_is_explained(changes: dict[str, Any], reason: str, words: str) -> None:
    from ipaddress import ip_address

    outcome = decide(service("a", **changes), taken={ip_address("10.0.0.2"): "node n"})["a"]
    assert outcome.addresses == ()
    assert outcome.reason == reason
    assert words in outcome.message


def test_without_pools_the_message_says_where_to_write_them() -> None:
    assert "kube-system/fairway-lb" in decide(service("a"), pools="")["a"].message


def test_dual_stack_that_is_only_preferred_makes_do_with_one_family() -> None:
    four = SMALL.split("- name: six")[0]
    both: dict[str, Any] = {"ipFamilies": ["IPv4", "IPv6"]}
    assert given(service("a", ipFamilyPolicy="PreferDualStack", **both), pools=four)["a"] == ["10.0.0.1"]
    assert given(service("a", ipFamilyPolicy="RequireDualStack", **both), pools=four)["a"] == []


def test_services_with_one_key_share_an_address() -> None:
    assert given(shared("a", 80), shared("b", 443), shared("c", 53, key="other")) == {
        "a": ["10.0.0.1"],
        "b": ["10.0.0.1"],
        "c": ["10.0.0.2"],
    }


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (shared("a", 80), shared("b", 80, loadBalancerIP="10.0.0.1"), "port 80/TCP"),
        (shared("a", 80), shared("b", 81, key="z", loadBalancerIP="10.0.0.1"), "allow-shared-ip"),
        (
            shared("a", 80),
            shared("b", 81, loadBalancerIP="10.0.0.1", externalTrafficPolicy="Local", selector={"x": "y"}),
            "externalTrafficPolicy",
        ),
        (
            shared("a", 80, externalTrafficPolicy="Local", selector={"x": "y"}),
            shared("b", 81, loadBalancerIP="10.0.0.1", externalTrafficPolicy="Local", selector={"x": "z"}),
            "different Pods",
        ),
    ],
)
def test_services_that_cannot_share_are_told_why(first: Service, second: Service, words: str) -> None:
    outcome = decide(first, second)["b"]
    assert outcome.reason == "AddressUnavailable"
    assert words in outcome.message


def test_local_services_for_the_same_pods_may_share() -> None:
    local: dict[str, Any] = {"externalTrafficPolicy": "Local", "selector": {"x": "y"}}
    assert given(shared("a", 80, **local), shared("b", 81, **local))["b"] == ["10.0.0.1"]


def test_two_that_hold_one_address_unlawfully_are_parted_and_the_older_one_keeps_it() -> None:
    older = service("z", current=["10.0.0.2"])
    younger = service("a", current=["10.0.0.2"], created="2026-05-01T00:00:00Z")
    assert given(older, younger) == {"z": ["10.0.0.2"], "a": ["10.0.0.1"]}


def test_the_ends_of_a_24_are_avoided_on_request() -> None:
    text = "address-pools: [{name: p, avoid-buggy-ips: true, addresses: [10.0.0.255-10.0.1.1]}]"
    assert given(service("a"), pools=text)["a"] == ["10.0.1.1"]
    assert given(service("a", loadBalancerIP="10.0.1.0"), pools=text)["a"] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not YAML"),
        ("address-pools: 5", "must be a list"),
        ("address-pools: [{addresses: [10.0.0.0/8]}]", "has no name"),
        ("address-pools: [{name: p}]", "has no addresses"),
        ("address-pools: [{name: p, protocol: bgp, addresses: [10.0.0.0/8]}]", "only layer2"),
        ("address-pools: [{name: p, addresses: [10.0.0.9-10.0.0.1]}]", "from a lower to a higher"),
        ("address-pools: [{name: p, addresses: [10.0.0.1/8]}]", "host bits"),
        ("address-pools: [{name: p, addresses: [nonsense]}]", "nonsense"),
        ("address-pools: [{name: p, adresses: []}]", "unknown settings: adresses"),
        ("address-pools: [{name: p, auto-assign: 7, addresses: [10.0.0.0/30]}]", "true or false"),
        (
            "address-pools: [{name: p, addresses: [10.0.0.0/30]}, {name: q, addresses: [10.0.0.2-10.0.0.9]}]",
            "overlaps",
        ),
        ("address-pools: [{name: p, addresses: [10.0.0.1-fd00::1]}]", "lower to a higher"),
    ],
)
def test_pools_that_make_no_sense_are_refused_with_a_reason(text: str, words: str) -> None:
    with pytest.raises(PoolError, match=words):
        read_pools(text)
