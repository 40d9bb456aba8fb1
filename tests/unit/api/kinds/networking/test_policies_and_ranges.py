"""NetworkPolicies, ServiceCIDRs and IPAddresses: rules that the recordings don't cover."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.kinds.networking import IP_ADDRESS, NETWORK_POLICY, SERVICE_CIDR

Obj = dict[str, Any]


def policy(**spec: Any) -> Obj:
    obj: Obj = {"metadata": {"name": "n"}, "spec": {"podSelector": {}} | spec}
    NETWORK_POLICY.default(obj)
    return obj


def texts(errors: Any) -> list[str]:
    return [error.message() for error in errors]


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ({"protocol": "X"}, 'protocol: Unsupported value: "X": supported values: "TCP", "UDP", "SCTP"'),
        ({"port": 0}, "port: Invalid value: 0: must be between 1 and 65535, inclusive"),
        ({"port": 5, "endPort": 4}, "endPort: Invalid value: 5: must be greater than or equal to `port`"),
        ({"endPort": 4}, "endPort: Invalid value: 4: may not be specified when `port` is not specified"),
        (
            {"port": "http", "endPort": 4},
            "endPort: Invalid value: 4: may not be specified when `port` is non-numeric",
        ),
    ],
)
def test_ports_of_a_rule(port: Obj, expected: str) -> None:
    obj = policy(ingress=[{"ports": [port]}])
    assert texts(NETWORK_POLICY.validate(obj)) == [f"spec.ingress[0].ports[0].{expected}"]


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ({}, ": Required value: must specify a peer"),
        (
            {"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}},
            ": Forbidden: may not specify both ipBlock and another peer",
        ),
        ({"ipBlock": {"cidr": ""}}, ".ipBlock.cidr: Required value"),
        (
            {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}},
            '.ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
        ),
        (
            {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]}},
            '.ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
        ),
        (
            {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["fd00::/16"]}},
            '.ipBlock.except[0]: Invalid value: "fd00::/16": must be a strict subset of `cidr`',
        ),
        (
            {"ipBlock": {"cidr": "10.0.0.1/8"}},
            '.ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
        ),
    ],
)
def test_peers_of_a_rule(peer: Obj, expected: str) -> None:
    obj = policy(egress=[{"to": [peer]}])
    assert texts(NETWORK_POLICY.validate(obj)) == [f"spec.egress[0].to[0]{expected}"]


def test_policy_types_are_two_at_most() -> None:
    assert texts(NETWORK_POLICY.validate(policy(policyTypes=["Ingress", "X"]))) == [
        'spec.policyTypes[1]: Unsupported value: "X": supported values: "Ingress", "Egress"'
    ]
    assert texts(NETWORK_POLICY.validate(policy(policyTypes=["Ingress", "Egress", "Ingress"]))) == [
        'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two '
        "policyTypes"
    ]


def test_odd_networks_are_warned_about() -> None:
    obj = policy(ingress=[{"from": [{"ipBlock": {"cidr": "FD00::/8"}}]}])
    assert NETWORK_POLICY.warnings(obj) == [
        'spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value "FD00::/8" should be in RFC 5952 canonical '
        "format "
        '("fd00::/8")'
    ]


def a_range(*cidrs: str) -> Obj:
    return {"metadata": {"name": "r"}, "spec": {"cidrs": list(cidrs)}}


def test_a_range_may_be_given_its_counterpart_and_nothing_else() -> None:
    def wrong(new: Obj, old: Obj) -> list[str]:
        return texts(SERVICE_CIDR.validate_update(new, old))

    one, both = a_range("10.1.0.0/24"), a_range("10.1.0.0/24", "fd00::/112")
    assert wrong(both, one) == []
    assert wrong(one, both) == ['spec.cidrs: Invalid value: ["10.1.0.0/24"]: field is immutable']
    assert wrong(a_range("10.2.0.0/24"), one) == [
        'spec.cidrs[0]: Invalid value: "10.2.0.0/24": field is immutable'
    ]


def test_a_range_is_written_canonically() -> None:
    assert texts(SERVICE_CIDR.validate(a_range("FD00::/112"))) == [
        'spec.cidrs[0]: Invalid value: "FD00::/112": must be in canonical form ("fd00::/112")'
    ]


def test_an_address_belongs_to_something() -> None:
    parent = {"group": "A", "resource": "a/b", "namespace": "..", "name": ""}
    found = texts(IP_ADDRESS.validate({"metadata": {"name": "10.0.0.1"}, "spec": {"parentRef": parent}}))
    assert found[0].startswith('spec.parentRef.group: Invalid value: "A"')
    assert found[1:] == [
        "spec.parentRef.resource: Invalid value: \"a/b\": may not contain '/'",
        "spec.parentRef.namespace: Invalid value: \"..\": may not be '..'",
        "spec.parentRef.name: Required value",
    ]
