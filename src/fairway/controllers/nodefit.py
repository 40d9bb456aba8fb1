"""Whether a Pod may run on a node: selectors, affinity, taints, host ports. One reason a node that won't do.

Used by the scheduler, and by the DaemonSet controller, which decides the same for every node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fairway.api.objects import Node, PodSpec, Taint, Toleration
from fairway.controllers.selectors import Requirement, contains

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
HARD = ("NoSchedule", "NoExecute")

NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
CORDONED = "node(s) were unschedulable"
PORTS_TAKEN = "node(s) didn't have free ports for the requested pod ports"

HostPort = tuple[str, str, int]  # address, protocol, port


def matches_node(spec: PodSpec, node: Node) -> bool:
    """nodeSelector and required node affinity together."""
    labels = node.metadata.labels or {}
    return contains(labels, spec.node_selector or {}) and _matches_affinity(spec.affinity, node)


def intolerable(spec: PodSpec, taints: Iterable[Taint], effects: tuple[str, ...] = HARD) -> Taint | None:
    """The first taint of those effects that the Pod does not tolerate."""
    tolerations = spec.tolerations or ()
    relevant = (taint for taint in taints if taint.effect in effects)
    return next((t for t in relevant if not any(tolerates(tol, t) for tol in tolerations)), None)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or (bool(toleration.key) and toleration.value == taint.value)


def taints_of(node: Node) -> list[Taint]:
    """Being cordoned counts as a taint, which DaemonSets tolerate."""
    taints = node.spec.taints or []
    marked = any(taint.key == UNSCHEDULABLE.key for taint in taints)
    return [*taints, UNSCHEDULABLE] if node.spec.unschedulable and not marked else taints


def host_ports(spec: PodSpec) -> list[HostPort]:
    ports = [port for container in spec.containers for port in container.ports or ()]
    return [(p.host_ip or "0.0.0.0", p.protocol, p.host_port) for p in ports if p.host_port]


def ports_clash(wanted: Iterable[HostPort], taken: Iterable[HostPort]) -> bool:
    """The same port and protocol on one address, or on all of them."""
    busy = list(taken)
    return any(
        protocol == other_protocol
        and port == other_port
        and (address == other or "0.0.0.0" in (address, other))
        for address, protocol, port in wanted
        for other, other_protocol, other_port in busy
    )


# ---- node affinity -------------------------------------------------------------------------------------


def _matches_affinity(affinity: Mapping[str, Any] | None, node: Node) -> bool:
    required = ((affinity or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if required is None:
        return True
    return any(_matches_term(term, node) for term in required.get("nodeSelectorTerms") or ())


def _matches_term(term: Mapping[str, Any], node: Node) -> bool:
    """All expressions of a term; an empty term matches nothing."""
    expressions = msgspec.convert(term.get("matchExpressions") or [], list[Requirement])
    fields = msgspec.convert(term.get("matchFields") or [], list[Requirement])
    if not expressions and not fields:
        return False
    named = {"metadata.name": node.metadata.name}
    labels = node.metadata.labels or {}
    return all(r.matches(labels) for r in expressions) and all(r.matches(named) for r in fields)
