"""Which nodes a DaemonSet runs on, and the Pod it makes for one."""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.api.objects import Node, OwnerReference, Pod, PodSpec, Toleration
from fairway.controllers.nodefit import intolerable, matches_node
from fairway.controllers.podtemplate import pod_from
from fairway.controllers.workloads import DaemonSet, Template
from fairway.controllers.writes import Create

REVISION_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"
GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"

# A daemon belongs on a node in whatever state it is: it may be there to repair it.
TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
NO_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def runs_on(owner: DaemonSet, node: Node) -> tuple[bool, bool]:
    """Whether a Pod should be started there, and whether one that is there may stay."""
    spec = msgspec.convert(owner.spec.template.get("spec") or {}, PodSpec)
    spec = msgspec.structs.replace(spec, tolerations=[*(spec.tolerations or ()), *_tolerations(spec)])
    if not matches_node(spec, node) or (spec.node_name and spec.node_name != node.metadata.name):
        return False, False
    taints = node.spec.taints or ()
    return intolerable(spec, taints) is None, intolerable(spec, taints, ("NoExecute",)) is None


def node_of(pod: Pod) -> str:
    """Where a Pod is or, before it is scheduled, where its affinity sends it."""
    if pod.spec.node_name:
        return pod.spec.node_name
    required = ((pod.spec.affinity or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def new_pod(owner: DaemonSet, reference: OwnerReference, node: str, revision: str) -> Create:
    template = owner.spec.template
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    labels = {**(metadata.get("labels") or {}), REVISION_LABEL: revision}
    if generation := owner.metadata.annotation(GENERATION_ANNOTATION):
        labels[GENERATION_LABEL] = generation
    placed: Template = {
        "metadata": {**metadata, "labels": labels},
        "spec": {
            **spec,
            "affinity": _pinned(spec.get("affinity"), node),
            "tolerations": _merged(spec),
        },
    }
    return pod_from(placed, reference, owner.metadata.namespace)


def _pinned(affinity: dict[str, Any] | None, node: str) -> dict[str, Any]:
    """To the node by name: binding is left to the scheduler, which then counts the Pod with the others."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    kept = affinity or {}
    return {**kept, "nodeAffinity": {**(kept.get("nodeAffinity") or {}), **required}}


def _merged(spec: dict[str, Any]) -> list[Any]:
    asked = list(spec.get("tolerations") or ())
    view = msgspec.convert(spec, PodSpec)
    return [*asked, *(t for t in _tolerations(view) if t not in (view.tolerations or ()))]


def _tolerations(spec: PodSpec) -> list[Toleration]:
    wanted = (*TOLERATED, NO_NETWORK) if spec.host_network else TOLERATED
    return [Toleration(key=key, operator="Exists", effect=effect) for key, effect in wanted]
