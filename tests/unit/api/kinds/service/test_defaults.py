"""What a Service gets when its client says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.kinds.service import SERVICE


def defaulted(**spec: Any) -> dict[str, Any]:
    obj: dict[str, Any] = {"metadata": {"name": "a"}, "spec": spec}
    SERVICE.default(obj)
    return obj


def test_a_bare_service_is_a_cluster_ip_without_affinity() -> None:
    obj = defaulted(ports=[{"port": 80}])
    assert obj["spec"] == {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }
    assert obj["status"] == {"loadBalancer": {}}


def test_defaulting_twice_changes_nothing() -> None:
    obj = defaulted(type="LoadBalancer", ports=[{"port": 80}], sessionAffinity="ClientIP")
    again = defaulted(**obj["spec"])
    assert again["spec"] == obj["spec"]


@pytest.mark.parametrize(
    ("spec", "policy"),
    [
        ({"type": "NodePort"}, "Cluster"),
        ({"type": "LoadBalancer"}, "Cluster"),
        ({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}, "Local"),
        ({"externalIPs": ["192.0.2.1"]}, "Cluster"),
        ({"type": "ExternalName", "externalIPs": ["192.0.2.1"]}, None),
        ({}, None),
    ],
)
def test_only_what_can_be_reached_from_outside_has_an_external_policy(spec: Any, policy: Any) -> None:
    assert defaulted(**spec)["spec"].get("externalTrafficPolicy") == policy


@pytest.mark.parametrize("given", [None, {}, {"clientIP": {}}])
def test_affinity_without_a_time_lasts_three_hours(given: Any) -> None:
    config = defaulted(sessionAffinity="ClientIP", sessionAffinityConfig=given)["spec"]
    assert config["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}


def test_without_affinity_its_settings_go() -> None:
    spec = defaulted(sessionAffinityConfig={"clientIP": {"timeoutSeconds": 5}})["spec"]
    assert "sessionAffinityConfig" not in spec


def test_an_external_name_shows_no_internal_policy_but_a_wrong_one_is_kept_to_be_refused() -> None:
    assert (
        "internalTrafficPolicy" not in defaulted(type="ExternalName", internalTrafficPolicy="Local")["spec"]
    )
    wrong = defaulted(type="ExternalName", internalTrafficPolicy="Near")["spec"]
    assert wrong["internalTrafficPolicy"] == "Near"


def test_addresses_of_a_load_balancer_are_virtual_unless_said_otherwise() -> None:
    obj: dict[str, Any] = {
        "metadata": {},
        "spec": {"type": "LoadBalancer"},
        "status": {
            "loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"ip": "192.0.2.2", "ipMode": "Proxy"}]}
        },
    }
    SERVICE.default(obj)
    assert [point["ipMode"] for point in obj["status"]["loadBalancer"]["ingress"]] == ["VIP", "Proxy"]
