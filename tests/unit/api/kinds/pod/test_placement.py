"""Where a Pod may run, and what it is to the network: rules that the recordings don't cover."""

from __future__ import annotations

from typing import Any

import pytest

from .manifests import messages, pod

LABEL = "a lowercase RFC 1123 label must consist of"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}
                    }
                }
            },
            [
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
                ".nodeSelectorTerms: "
                "Required value: must have at least one node selector term"
            ],
        ),
        (
            {
                "affinity": {
                    "podAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 101, "podAffinityTerm": {"topologyKey": "x"}}
                        ]
                    }
                }
            },
            [
                "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
                "Invalid value: 101: must be in the range 1-100"
            ],
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Odd"}]},
            [
                "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
                "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
                'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Odd": supported '
                'values: "DoNotSchedule", "ScheduleAnyway"',
            ],
        ),
        (
            {"nodeName": "n", "schedulingGates": [{"name": "a/b"}]},
            ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
        ),
        (
            {"dnsPolicy": "None"},
            ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
        ),
        (
            {"shareProcessNamespace": True, "hostPID": True},
            [
                "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and "
                "HostPID cannot both be enabled"
            ],
        ),
        ({"os": {}}, ["spec.os.name: Required value"]),
        (
            {"os": {"name": "odd"}},
            ['spec.os: Unsupported value: "odd": supported values: "linux", "windows"'],
        ),
        (
            {"hostUsers": False, "hostNetwork": True},
            ["spec.hostNetwork: Forbidden: when `hostUsers` is false"],
        ),
        ({"subdomain": "a.b"}, ['spec.subdomain: Invalid value: "a.b": must not contain dots']),
    ],
)
def test_a_fault_is_named(spec: dict[str, Any], expected: list[str]) -> None:
    assert messages(pod(**spec)) == expected


def test_at_most_three_name_servers_and_32_search_paths() -> None:
    servers = [f"10.0.0.{number}" for number in range(4)]
    shown = ",".join(f'"{server}"' for server in servers)
    assert messages(pod(dnsConfig={"nameservers": servers})) == [
        f"spec.dnsConfig.nameservers: Invalid value: [{shown}]: must not have more than 3 nameservers"
    ]
    assert messages(pod(dnsConfig={"searches": [f"a{number}.example" for number in range(32)]})) == []
    (message,) = messages(pod(dnsConfig={"searches": [f"a{number}.example" for number in range(33)]}))
    assert message.endswith("must not have more than 32 search paths")


def test_errors_come_in_the_order_of_kubernetes() -> None:
    wrong = pod(restartPolicy="Odd", dnsPolicy="Odd", nodeName="A", hostname="A", containers=[])
    assert [message.partition(":")[0] for message in messages(wrong)] == [
        "spec.containers",
        "spec.restartPolicy",
        "spec.dnsPolicy",
        "spec.nodeName",
        "spec.hostname",
    ]
