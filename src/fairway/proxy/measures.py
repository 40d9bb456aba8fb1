"""What is measured of the proxy's work, under kube-proxy's names so that dashboards keep working.

One programming covers both address families, so what kube-proxy has per family is told for both.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime

from fairway.metrics import Figure, Histogram, Labels, by_label, exponential, linear
from fairway.proxy.changes import PortState
from fairway.proxy.model import Family
from fairway.proxy.programming import Changes
from fairway.proxy.views import EndpointSlice

_SYNC_BOUNDS = exponential(0.001, 2, 15)
_PROGRAMMING_BOUNDS = (
    *linear(0.25, 0.25, 2),
    *linear(1, 1, 59),
    *linear(60, 5, 12),
    *linear(120, 30, 7),
)
_FAMILIES = {"IPv4": Family.IPV4, "IPv6": Family.IPV6}
_P = "kubeproxy_sync_proxy_rules"


class Measures:
    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._started = now()
        self._all, self._full, self._partial = (Histogram(_SYNC_BOUNDS) for _ in range(3))
        self._programming = {family: Histogram(_PROGRAMMING_BOUNDS) for family in _FAMILIES}
        self._triggers: list[tuple[str, float]] = []
        self._queued_at = self._programmed_at = 0.0
        self._service_changes = self._endpoint_changes = 0
        self._services_waiting = self._endpoints_waiting = 0
        self._failures = self._repairs = 0
        # (family, policy) of each Service port that has no endpoint here although its policy is Local.
        self._no_local: dict[str, tuple[tuple[str, str], ...]] = {}
        self.healthz: Counter[str] = Counter()
        self.livez: Counter[str] = Counter()

    # -- what happens ----------------------------------------------------------------------------------

    def service_changed(self) -> None:
        self._service_changes += 1
        self._services_waiting += 1

    def slice_changed(self, new: EndpointSlice | None) -> None:
        self._endpoint_changes += 1
        self._endpoints_waiting += 1
        moment = _moment(new)
        # What was changed before this proxy ran says nothing about it.
        if new is not None and moment > self._started:
            self._triggers.append((new.address_type, moment))

    def queued(self) -> None:
        self._queued_at = self._now()

    def programmed(self, changes: Changes, everything: bool, took: float) -> None:
        self._services_waiting = self._endpoints_waiting = 0
        triggers, self._triggers = self._triggers, []
        if not took:
            return
        self._programmed_at = self._now()
        self._all.observe(took)
        (self._full if everything else self._partial).observe(took)
        for kind, moment in triggers:
            if kind in self._programming:
                self._programming[kind].observe(max(self._programmed_at - moment, 0.0))
        for service, states in changes.items():
            self._note_missing(service, states)

    def failed(self) -> None:
        self._failures += 1

    def repaired(self) -> None:
        self._repairs += 1

    def _note_missing(self, service: str, states: tuple[PortState, ...]) -> None:
        missing = tuple(entry for state in states for entry in _missing(state))
        if missing:
            self._no_local[service] = missing
        else:
            self._no_local.pop(service, None)

    # -- what is told ----------------------------------------------------------------------------------

    def figures(self, mode: str, services: int) -> Iterator[Figure]:
        yield from self._durations()
        yield from self._totals()
        yield from by_label(
            "kubeproxy_proxy_healthz_total", "code", self.healthz, "counter", "Answers of /healthz"
        )
        yield from by_label("kubeproxy_proxy_livez_total", "code", self.livez, "counter", "Answers of /livez")
        failures = "nftables_sync_failures_total" if mode == "nftables" else "iptables_restore_failures_total"
        yield from _both(f"{_P}_{failures}", self._failures, "counter", "Programmings that failed")
        repairs = "Times that changes made by others were noticed and undone"
        yield Figure("fairway_proxy_drift_repairs_total", self._repairs, (), "counter", repairs)
        yield Figure("fairway_proxy_services", services, (), "gauge", "Services that are known")
        yield Figure("fairway_proxy_mode", 1, (("mode", mode),), "gauge", "The proxy mode in force")

    def _durations(self) -> Iterator[Figure]:
        for label in _FAMILIES:
            labels: Labels = (("ip_family", label),)
            seconds = "SyncProxyRules latency in seconds"
            yield from self._all.figures(f"{_P}_duration_seconds", seconds, labels)
            yield from self._full.figures(
                "kubeproxy_sync_full_proxy_rules_duration_seconds", f"{seconds} for full resyncs", labels
            )
            yield from self._partial.figures(
                "kubeproxy_sync_partial_proxy_rules_duration_seconds",
                f"{seconds} for partial resyncs",
                labels,
            )
            yield from self._programming[label].figures(
                "kubeproxy_network_programming_duration_seconds",
                "In Cluster Network Programming Latency in seconds",
                labels,
            )

    def _totals(self) -> Iterator[Figure]:
        last, queued = f"{_P}_last_timestamp_seconds", f"{_P}_last_queued_timestamp_seconds"
        yield from _both(
            last, self._programmed_at, "gauge", "The last time proxy rules were successfully synced"
        )
        yield from _both(queued, self._queued_at, "gauge", "The last time a sync of proxy rules was queued")
        for what, total, waiting in (
            ("service", self._service_changes, self._services_waiting),
            ("endpoint", self._endpoint_changes, self._endpoints_waiting),
        ):
            kind = what.capitalize()
            total_help, waiting_help = f"Proxy rules {kind} changes", f"Pending proxy rules {kind} changes"
            yield Figure(f"{_P}_{what}_changes_total", total, (), "counter", total_help)
            yield Figure(f"{_P}_{what}_changes_pending", waiting, (), "gauge", waiting_help)
        missing = Counter(entry for entries in self._no_local.values() for entry in entries)
        for family in _FAMILIES:
            for policy in ("internal", "external"):
                labels = (("ip_family", family), ("traffic_policy", policy))
                about = "Number of services with a Local traffic policy and no endpoints"
                yield Figure(
                    f"{_P}_no_local_endpoints_total", missing[family, policy], labels, "gauge", about
                )


def _both(name: str, value: float, kind: str, about: str) -> Iterator[Figure]:
    for family in _FAMILIES:
        yield Figure(name, value, (("ip_family", family),), kind, about)


def _missing(state: PortState) -> Iterator[tuple[str, str]]:
    """Endpoints elsewhere are no help where the policy is Local."""
    port = state.port
    if state.pools.local or not state.pools.any:
        return
    family = f"IPv{port.name.family.version}"
    if port.internal_local:
        yield family, "internal"
    if port.external_local and port.external:
        yield family, "external"


def _moment(view: EndpointSlice | None) -> float:
    text = view.metadata.annotations.last_change if view and view.metadata.annotations else ""
    try:
        return datetime.fromisoformat(text).timestamp() if text else 0.0
    except ValueError:
        return 0.0
