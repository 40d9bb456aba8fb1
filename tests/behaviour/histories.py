"""Random histories of Services and their endpoints, for the promise that any way leads to the same state.

A history is a list of steps; a step gives a Service of a few its new shape, or takes it away. Services share
external addresses, and Pods, so that they get into each other's way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import strategies as st

from fairway.api.objects import EndpointSlice, Service
from fairway.proxy.changes import Tracker

NAMES = ("ant", "bee", "cat")
NODES = ("n1", "n2", None)
_ADDRESSES = {
    4: [f"10.244.1.{number}" for number in range(2, 7)],
    6: [f"fd00:244:1::{n}" for n in range(2, 7)],
}
# Ready, serving, terminating.
_CONDITIONS = [(True, True, False)] * 3 + [(False, True, True), (False, False, True), (False, False, False)]


@dataclass(frozen=True, slots=True)
class ServiceStep:
    """A Service from now on; None once it is deleted."""

    name: str
    service: Service | None


@dataclass(frozen=True, slots=True)
class SlicesStep:
    """All slices of a Service from now on, whether it exists or not."""

    name: str
    slices: tuple[EndpointSlice, ...]


Step = ServiceStep | SlicesStep


class History:
    """Tells trackers of steps, in the way that watches would."""

    def __init__(self, *trackers: Tracker) -> None:
        self._trackers = trackers
        self._services: dict[str, Service] = {}
        self._slices: dict[str, dict[str, EndpointSlice]] = {}

    def take(self, step: Step) -> None:
        if isinstance(step, ServiceStep):
            self._service(step)
        else:
            self._replace_slices(step)

    def _service(self, step: ServiceStep) -> None:
        old = self._services.pop(step.name, None)
        if step.service is not None:
            self._services[step.name] = step.service
        for tracker in self._trackers:
            tracker.service_changed(f"default/{step.name}", old, step.service)

    def _replace_slices(self, step: SlicesStep) -> None:
        before = self._slices.get(step.name, {})
        after = {view.metadata.key: view for view in step.slices}
        self._slices[step.name] = after
        for key in {**before, **after}:
            for tracker in self._trackers:
                tracker.slice_changed(key, before.get(key), after.get(key))


@st.composite
def _services(draw: st.DrawFn, name: str) -> Service:
    number = NAMES.index(name) + 1
    kind = draw(st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]))
    protocols = draw(st.sampled_from([("TCP",), ("UDP",), ("TCP", "UDP")]))
    outer = [f"{net}{host}" for net in ("203.0.113.", "2001:db8:1::") for host in (1, 2)]
    spec: dict[str, Any] = {
        "type": kind,
        "clusterIP": f"10.96.0.{number}",
        "clusterIPs": draw(
            st.sampled_from([[f"10.96.0.{number}"], [f"10.96.0.{number}", f"fd00:96::{number}"]])
        ),
        "ports": [
            {
                "name": p.lower(),
                "port": draw(st.sampled_from([80, 81])),
                "protocol": p,
                "nodePort": 30000 + number,
            }
            for p in protocols
        ],
        "externalIPs": draw(st.lists(st.sampled_from(outer), max_size=2, unique=True)),
        "sessionAffinity": draw(st.sampled_from(["None", "ClientIP"])),
        "internalTrafficPolicy": draw(st.sampled_from(["Cluster", "Local"])),
        "externalTrafficPolicy": draw(st.sampled_from(["Cluster", "Local"])),
        "loadBalancerSourceRanges": draw(
            st.lists(st.sampled_from(["10.0.0.0/8", "192.0.2.0/24", "fd00::/16"]), max_size=2, unique=True)
        ),
    }
    balancer = [{"ip": draw(st.sampled_from(["203.0.113.2", "203.0.113.3", "2001:db8:1::3"]))}]
    manifest = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
        "status": {"loadBalancer": {"ingress": balancer}} if kind == "LoadBalancer" else {},
    }
    return msgspec.convert(manifest, Service)


@st.composite
def _slices(draw: st.DrawFn, name: str) -> tuple[EndpointSlice, ...]:
    return tuple(draw(_slice(name, family)) for family in (4, 6))


@st.composite
def _slice(draw: st.DrawFn, name: str, family: int) -> EndpointSlice:
    chosen = draw(st.lists(st.sampled_from(_ADDRESSES[family]), max_size=4, unique=True))
    manifest = {
        "metadata": {
            "name": f"{name}-{family}",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": f"IPv{family}",
        "ports": [{"name": p.lower(), "port": 9376, "protocol": p} for p in ("TCP", "UDP")],
        "endpoints": [draw(_endpoint(ip)) for ip in chosen],
    }
    return msgspec.convert(manifest, EndpointSlice)


@st.composite
def _endpoint(draw: st.DrawFn, ip: str) -> dict[str, Any]:
    ready, serving, terminating = draw(st.sampled_from(_CONDITIONS))
    zones = draw(st.sampled_from([[], ["east"], ["west"]]))
    return {
        "addresses": [ip],
        "nodeName": draw(st.sampled_from(NODES)),
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "hints": {"forZones": [{"name": zone} for zone in zones]},
    }


@st.composite
def _steps(draw: st.DrawFn) -> Step:
    name = draw(st.sampled_from(NAMES))
    match draw(st.sampled_from(["service", "service", "slices", "slices", "deleted", "no slices"])):
        case "service":
            return ServiceStep(name, draw(_services(name)))
        case "deleted":
            return ServiceStep(name, None)
        case "slices":
            return SlicesStep(name, draw(_slices(name)))
        case _:
            return SlicesStep(name, ())


@st.composite
def beginnings(draw: st.DrawFn) -> list[Step]:
    """All Services are there, with endpoints, so that there is something to change."""
    begin: list[Step] = []
    for name in NAMES:
        begin += [ServiceStep(name, draw(_services(name))), SlicesStep(name, draw(_slices(name)))]
    return begin


def histories(longest: int) -> st.SearchStrategy[list[Step]]:
    return st.lists(_steps(), min_size=longest // 2, max_size=longest)
