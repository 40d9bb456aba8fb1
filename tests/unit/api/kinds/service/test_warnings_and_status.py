"""What a client is told although the Service was accepted, and what load balancers may report."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.kinds.service import SERVICE

from .manifests import Obj, annotated, service


def test_a_plain_service_gives_no_cause_for_warnings() -> None:
    assert SERVICE.warnings(service()) == []


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (
            service(clusterIP="None", clusterIPs=["None"], sessionAffinity="ClientIP"),
            ["spec.SessionAffinity is ignored for headless services"],
        ),
        (
            service(clusterIP="None", clusterIPs=["None"], loadBalancerIP="192.0.2.1"),
            ["spec.loadBalancerIP is ignored for headless services"],
        ),
        (
            service(trafficDistribution="PreferClose"),
            ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
        ),
        (
            service("LoadBalancer", loadBalancerIP="010.0.0.1"),
            [
                'spec.loadBalancerIP: non-standard IP address "010.0.0.1" will be considered invalid in a '
                "future "
                'Kubernetes release: use "10.0.0.1"'
            ],
        ),
        (
            service(clusterIP="FD00::5", clusterIPs=["FD00::5"], ipFamilies=["IPv6"]),
            ['spec.clusterIPs[0]: IPv6 address "FD00::5" should be in RFC 5952 canonical format ("fd00::5")'],
        ),
        (
            annotated(service(), **{"service.kubernetes.io__topology-aware-hints": "Auto"}),
            [
                "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
                "service.kubernetes.io/topology-mode instead"
            ],
        ),
    ],
)
def test_what_will_not_do_what_it_says_is_pointed_out(obj: Obj, expected: list[str]) -> None:
    assert SERVICE.warnings(obj) == expected


def test_external_ips_of_an_external_name_are_deprecated_and_ignored() -> None:
    assert SERVICE.warnings(service("ExternalName", externalIPs=["192.0.2.1"])) == [
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        'spec.externalIPs is ignored when spec.type is "ExternalName"',
    ]


def reported(*points: dict[str, Any], kind: str = "LoadBalancer") -> list[str]:
    assert SERVICE.status is not None
    old, new = service(kind), service(kind)
    new["status"] = {"loadBalancer": {"ingress": list(points)}}
    return [error.message() for error in SERVICE.status.validate_update(new, old)]


def test_a_load_balancer_reports_addresses_with_a_mode_or_names_without() -> None:
    assert reported({"ip": "192.0.2.1", "ipMode": "VIP"}, {"hostname": "lb.example.com"}) == []


def test_what_is_wrong_with_a_report_is_named() -> None:
    field = "status.loadBalancer.ingress"
    assert reported({"ip": "192.0.2.1"}) == [
        f"{field}[0].ipMode: Required value: must be specified when `ip` is set"
    ]
    assert reported({"ip": "192.0.2.1", "ipMode": "NAT"}) == [
        f'{field}[0].ipMode: Unsupported value: "NAT": supported values: "Proxy", "VIP"'
    ]
    assert reported({"ip": "192.0.2.1"}, kind="NodePort") == [
        f"{field}: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    ]
    (message,) = reported({"hostname": "a_b"})
    assert message.startswith(f'{field}[0].hostname: Invalid value: "a_b": a lowercase RFC 1123 subdomain')
