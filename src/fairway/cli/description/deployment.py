"""A Deployment, described; with its ReplicaSets."""

from __future__ import annotations

from fairway.cli.description.containers import containers, placement, volumes
from fairway.cli.description.text import NONE, Obj, Writer, head, listed, moment, pairs, write_annotations

REVISION = "deployment.kubernetes.io/revision"


def describe(writer: Writer, deployment: Obj, replica_sets: list[Obj]) -> None:
    metadata, spec, status = deployment["metadata"], deployment["spec"], deployment.get("status") or {}
    head(writer, deployment)
    writer.field("CreationTimestamp", moment(metadata.get("creationTimestamp")))
    listed(writer, "Labels", pairs(metadata.get("labels")))
    write_annotations(writer, deployment)
    writer.field("Selector", ",".join(pairs(spec["selector"].get("matchLabels"))) or NONE)
    counts = [("desired", spec.get("replicas", 1)), ("updated", status.get("updatedReplicas", 0))]
    counts += [("total", status.get("replicas", 0)), ("available", status.get("availableReplicas", 0))]
    counts += [("unavailable", status.get("unavailableReplicas", 0))]
    writer.field("Replicas", " | ".join(f"{number} {what}" for what, number in counts))
    strategy = spec.get("strategy") or {}
    writer.field("StrategyType", strategy.get("type", ""))
    writer.field("MinReadySeconds", spec.get("minReadySeconds", 0))
    if rolling := strategy.get("rollingUpdate"):
        text = f"{rolling.get('maxUnavailable')} max unavailable, {rolling.get('maxSurge')} max surge"
        writer.field("RollingUpdateStrategy", text)
    template(writer, spec["template"])
    if found := status.get("conditions"):
        writer.line(0, "Conditions:")
        writer.line(1, "Type\tStatus\tReason")
        writer.line(1, "----\t------\t------")
        for condition in found:
            writer.line(1, f"{condition['type']} \t{condition['status']}\t{condition.get('reason', '')}")
    _replica_sets(writer, deployment, replica_sets)


def template(writer: Writer, pod: Obj) -> None:
    writer.line(0, "Pod Template:")
    listed(writer, "Labels", pairs((pod.get("metadata") or {}).get("labels")), 1)
    if (pod.get("metadata") or {}).get("annotations"):
        write_annotations(writer, pod, 1)
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        writer.field("Service Account", spec["serviceAccountName"], 1)
    if spec.get("initContainers"):
        containers(writer, "Init Containers", spec["initContainers"], [], template=True)
    containers(writer, "Containers", spec["containers"], [], template=True)
    volumes(writer, spec.get("volumes") or [], 1)
    placement(writer, spec, 1)


def _replica_sets(writer: Writer, deployment: Obj, replica_sets: list[Obj]) -> None:
    own = (deployment["metadata"].get("annotations") or {}).get(REVISION)
    mine = [
        each
        for each in replica_sets
        if any(
            ref["uid"] == deployment["metadata"]["uid"]
            for ref in each["metadata"].get("ownerReferences") or ()
        )
    ]
    if not mine:
        return
    new = [each for each in mine if (each["metadata"].get("annotations") or {}).get(REVISION) == own]
    old = sorted(
        (each for each in mine if each not in new),
        key=lambda each: str(each["metadata"]["creationTimestamp"]),
    )
    writer.field("OldReplicaSets", ", ".join(map(_replica_set, old)) or NONE)
    writer.field("NewReplicaSet", ", ".join(map(_replica_set, new)) or NONE)


def _replica_set(each: Obj) -> str:
    created = (each.get("status") or {}).get("replicas", 0)
    return f"{each['metadata']['name']} ({created}/{each['spec'].get('replicas', 0)} replicas created)"
