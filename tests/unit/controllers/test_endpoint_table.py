"""One table for both forms: what a state of Pods means for Endpoints and for slices, condition by condition.

Endpoints are written `ip:port` for a ready address, `!ip:port` for an unready one; endpoints of slices
`ip:port` and letters for ready, serving and terminating.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fairway.api.objects import Condition, ContainerPort, Pod, PodReadinessGate, Service
from fairway.api.objects import ServicePort as Port
from fairway.controllers.endpoint.subsets import subsets_for
from fairway.controllers.endpointslice.plan import Topology, plan
from fairway.controllers.writes import Create

from .objects import pod, service

NODES = Topology({"n1": "za"})
NAMED = Port(80, "http", target_port="http")
V4, V6 = "10.0.0.1", "fd00::1"
DUAL = {"ip_families": ["IPv4", "IPv6"]}


def gated(*, met: bool) -> Pod:
    """The containers are ready; whether the Pod is depends on its gate, and its agent says so in Ready."""
    given = pod("a", V4, ready=met, readiness_gates=[PodReadinessGate("example.com/open")])
    conditions = [
        *(given.status.conditions or ()),
        Condition("ContainersReady", "True"),
        Condition("example.com/open", "True" if met else "False"),
    ]
    return replace(given, status=replace(given.status, conditions=conditions))


TABLE: list[tuple[str, Service, list[Pod], list[str], list[str]]] = [
    ("ready", service(), [pod("a", V4)], [f"{V4}:8080"], [f"{V4}:8080 rs"]),
    ("unready", service(), [pod("a", V4, ready=False)], [f"!{V4}:8080"], [f"{V4}:8080 "]),
    ("no IP yet", service(), [pod("a", phase="Pending", ready=False)], [], []),
    ("an IP, still pending", service(), [pod("a", V4, phase="Pending", ready=False)],
     [f"!{V4}:8080"], [f"{V4}:8080 "]),
    ("terminating, still serving", service(), [pod("a", V4, going=True)], [], [f"{V4}:8080 st"]),
    ("terminating, unready", service(), [pod("a", V4, ready=False, going=True)], [], [f"{V4}:8080 t"]),
    ("succeeded", service(), [pod("a", V4, phase="Succeeded", ready=False)], [], []),
    ("failed", service(), [pod("a", V4, phase="Failed", ready=False)], [], []),
    ("failed, condition not yet turned", service(), [pod("a", V4, phase="Failed")], [], []),
    ("readiness gate unmet", service(), [gated(met=False)], [f"!{V4}:8080"], [f"{V4}:8080 "]),
    ("readiness gate met", service(), [gated(met=True)], [f"{V4}:8080"], [f"{V4}:8080 rs"]),
    ("publishNotReady, unready", service(publish_not_ready_addresses=True), [pod("a", V4, ready=False)],
     [f"{V4}:8080"], [f"{V4}:8080 r"]),
    ("publishNotReady, terminating", service(publish_not_ready_addresses=True), [pod("a", V4, going=True)],
     [f"{V4}:8080"], [f"{V4}:8080 rst"]),
    ("publishNotReady, ended", service(publish_not_ready_addresses=True), [pod("a", V4, phase="Failed")],
     [], []),
    ("publishNotReady, no IP", service(publish_not_ready_addresses=True), [pod("a")], [], []),
    ("named ports that differ by Pod", service(NAMED),
     [pod("a", V4), pod("b", "10.0.0.2", ports=(ContainerPort(9090, "http"),))],
     [f"{V4}:8080", "10.0.0.2:9090"], [f"{V4}:8080 rs", "10.0.0.2:9090 rs"]),
    ("a named port one Pod lacks", service(NAMED), [pod("a", V4), pod("b", "10.0.0.2", ports=())],
     [f"{V4}:8080"], [f"{V4}:8080 rs", "10.0.0.2: rs"]),
    ("a named port of another protocol", service(NAMED),
     [pod("a", V4, ports=(ContainerPort(53, "http", "UDP"),))], [], [f"{V4}: rs"]),
    ("host network: one address, two Pods", service(NAMED),
     [pod("a", "192.0.2.1", host_network=True),
      pod("b", "192.0.2.1", host_network=True, ports=(ContainerPort(9090, "http"),))],
     ["192.0.2.1:8080", "192.0.2.1:9090"], ["192.0.2.1:8080 rs", "192.0.2.1:9090 rs"]),
    ("both families", service(**DUAL), [pod("a", V4, V6)],
     [f"{V4}:8080"], [f"{V4}:8080 rs", f"{V6}:8080 rs"]),
    ("IPv6 first", service(ip_families=["IPv6", "IPv4"]), [pod("a", V4, V6)],
     [f"{V6}:8080"], [f"{V4}:8080 rs", f"{V6}:8080 rs"]),
    ("a family the Pod has not", service(ip_families=["IPv6"]), [pod("a", V4)], [], []),
    ("both families, a Pod of one", service(**DUAL), [pod("a", V4)], [f"{V4}:8080"], [f"{V4}:8080 rs"]),
    ("a node nobody knows", service(), [pod("a", V4, node="lost")], [f"{V4}:8080"], []),
    ("a node nobody knows, publishNotReady", service(publish_not_ready_addresses=True),
     [pod("a", V4, node="lost")], [f"{V4}:8080"], [f"{V4}:8080 rs"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("about", "svc", "pods", "endpoints", "slices"), TABLE, ids=[row[0] for row in TABLE]
)
def test_endpoints_and_slices_say_what_the_state_of_pods_means(
    about: str, svc: Service, pods: list[Pod], endpoints: list[str], slices: list[str]
) -> None:
    assert sorted(_in_subsets(svc, pods)) == sorted(endpoints), about
    assert sorted(_in_slices(svc, pods)) == sorted(slices), about


def _in_subsets(svc: Service, pods: list[Pod]) -> list[str]:
    return [
        f"{mark}{address.ip}:{port.port}"
        for subset in subsets_for(svc, pods)
        for port in subset.ports or ()
        for mark, addresses in (("", subset.addresses), ("!", subset.not_ready_addresses))
        for address in addresses or ()
    ]


def _in_slices(svc: Service, pods: list[Pod]) -> list[str]:
    made = [w.obj for w in plan(svc, pods, (), NODES, None).plan.writes if isinstance(w, Create)]
    assert made, "a Service without endpoints still has a slice"
    return [
        f"{endpoint['addresses'][0]}:{_ports(body)} {_letters(endpoint)}"
        for body in map(msgspec.to_builtins, made)
        for endpoint in body.get("endpoints") or ()
    ]


def _ports(body: dict[str, Any]) -> str:
    return ",".join(str(port["port"]) for port in body.get("ports") or ())


def _letters(endpoint: dict[str, Any]) -> str:
    return "".join(name[0] for name in ("ready", "serving", "terminating") if endpoint["conditions"][name])
