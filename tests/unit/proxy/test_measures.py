"""What is measured, under kube-proxy's names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from fairway.metrics import exposition
from fairway.proxy.changes import PortState, Tracker
from fairway.proxy.measures import Measures
from fairway.proxy.topology import Place
from fairway.proxy.views import EndpointSlice

from .objects import endpoint, endpoint_slice, service

START = 1_700_000_000.0


class Bench:
    def __init__(self) -> None:
        self.now = START
        self.measures = Measures(lambda: self.now)

    def lines(self, mode: str = "nftables") -> set[str]:
        return set(exposition(self.measures.figures(mode, 3)).splitlines())


def triggered(seconds: float) -> EndpointSlice:
    moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return msgspec.convert(
        {"metadata": {"annotations": {"endpoints.kubernetes.io/last-change-trigger-time": moment}}},
        EndpointSlice,
    )


def states(name: str, *endpoints: dict[str, Any], **spec: Any) -> tuple[PortState, ...]:
    tracker = Tracker(Place("n1"))
    tracker.service_changed(f"default/{name}", None, service(name, **spec))
    tracker.slice_changed(f"default/{name}-1", None, endpoint_slice(endpoints, service=name))
    return tracker.take()[f"default/{name}"]


def test_changes_wait_until_they_are_programmed() -> None:
    bench = Bench()
    bench.measures.service_changed()
    bench.measures.slice_changed(None)
    bench.measures.slice_changed(None)
    assert "kubeproxy_sync_proxy_rules_endpoint_changes_pending 2" in bench.lines()
    bench.measures.programmed({"a": ()}, False, 0.01)
    assert {
        "kubeproxy_sync_proxy_rules_service_changes_total 1",
        "kubeproxy_sync_proxy_rules_service_changes_pending 0",
        "kubeproxy_sync_proxy_rules_endpoint_changes_total 2",
        "kubeproxy_sync_proxy_rules_endpoint_changes_pending 0",
    } <= bench.lines()


def test_full_and_partial_programmings_are_told_apart() -> None:
    bench = Bench()
    bench.measures.programmed({}, True, 0.5)
    bench.measures.programmed({"a": ()}, False, 0.0015)
    bench.measures.programmed({}, False, 0.0)
    assert {
        'kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family="IPv4"} 2',
        'kubeproxy_sync_full_proxy_rules_duration_seconds_sum{ip_family="IPv6"} 0.5',
        'kubeproxy_sync_partial_proxy_rules_duration_seconds_bucket{ip_family="IPv4",le="0.001"} 0',
        'kubeproxy_sync_partial_proxy_rules_duration_seconds_bucket{ip_family="IPv4",le="0.002"} 1',
    } <= bench.lines()


def test_the_time_from_a_change_in_the_cluster_to_the_kernel_is_measured_for_each_slice() -> None:
    bench = Bench()
    bench.measures.slice_changed(triggered(START - 100))
    bench.measures.slice_changed(triggered(START + 1))
    bench.now = START + 4
    bench.measures.programmed({"a": ()}, False, 0.1)
    assert {
        'kubeproxy_network_programming_duration_seconds_count{ip_family="IPv4"} 1',
        'kubeproxy_network_programming_duration_seconds_sum{ip_family="IPv4"} 3',
        'kubeproxy_network_programming_duration_seconds_count{ip_family="IPv6"} 0',
    } <= bench.lines()


def test_a_trigger_time_that_is_none_is_no_matter() -> None:
    bench = Bench()
    broken = msgspec.convert(
        {"metadata": {"annotations": {"endpoints.kubernetes.io/last-change-trigger-time": "soon"}}},
        EndpointSlice,
    )
    bench.measures.slice_changed(broken)
    bench.measures.programmed({"a": ()}, False, 0.1)
    assert 'kubeproxy_network_programming_duration_seconds_count{ip_family="IPv4"} 0' in bench.lines()


def test_ports_with_policy_local_and_endpoints_only_elsewhere_are_counted_while_it_is_so() -> None:
    bench = Bench()
    name = "kubeproxy_sync_proxy_rules_no_local_endpoints_total"
    elsewhere, here = endpoint("10.244.2.1", "n2"), endpoint("10.244.1.1", "n1")
    local = {"internalTrafficPolicy": "Local"}
    bench.measures.programmed({"default/a": states("a", elsewhere, **local)}, False, 0.1)
    bench.measures.programmed({"default/b": states("b", **local)}, False, 0.1)
    external = {"type": "NodePort", "nodePort": 30000, "externalTrafficPolicy": "Local"}
    bench.measures.programmed({"default/c": states("c", elsewhere, **external)}, False, 0.1)
    assert f'{name}{{ip_family="IPv4",traffic_policy="internal"}} 1' in bench.lines()
    assert f'{name}{{ip_family="IPv4",traffic_policy="external"}} 1' in bench.lines()
    bench.measures.programmed({"default/a": states("a", here, **local), "default/c": ()}, False, 0.1)
    assert f'{name}{{ip_family="IPv4",traffic_policy="internal"}} 0' in bench.lines()
    assert f'{name}{{ip_family="IPv4",traffic_policy="external"}} 0' in bench.lines()


def test_failures_have_the_name_of_the_mode() -> None:
    bench = Bench()
    bench.measures.failed()
    assert 'kubeproxy_sync_proxy_rules_nftables_sync_failures_total{ip_family="IPv4"} 1' in bench.lines()
    name = "kubeproxy_sync_proxy_rules_iptables_restore_failures_total"
    assert f'{name}{{ip_family="IPv4"}} 1' in bench.lines("iptables")


def test_repairs_are_counted() -> None:
    bench = Bench()
    bench.measures.repaired()
    assert "fairway_proxy_drift_repairs_total 1" in bench.lines()
