"""Rows of workloads: Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet; and of what goes
with them: ControllerRevision and Scale.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from fairway.api.tables.column import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    NONE,
    WIDE,
    Column,
    Printer,
    Printers,
    documented,
)
from fairway.api.tables.durations import age
from fairway.api.tables.reading import Object, at, entries, mapping, name_of, number, text
from fairway.api.tables.selector_text import UnknownOperator, labels_text, requirements_text, selector_text


def template_cells(workload: Object) -> list[Any]:
    """Names and images of the containers in the Pod template."""
    containers = entries(workload, "spec", "template", "spec", "containers")
    names = ",".join(text(container, "name") for container in containers)
    return [names, ",".join(text(container, "image") for container in containers)]


def ready_of_desired(workload: Object) -> str:
    return f"{number(workload, 'status', 'readyReplicas')}/{number(workload, 'spec', 'replicas')}"


def deployment_cells(deployment: Object, now: datetime) -> list[Any]:
    return [
        name_of(deployment),
        ready_of_desired(deployment),
        number(deployment, "status", "updatedReplicas"),
        number(deployment, "status", "availableReplicas"),
        age(deployment, now),
        *template_cells(deployment),
        deployment_selector(deployment),
    ]


def deployment_selector(deployment: Object) -> str:
    """Unlike other kinds, a Deployment shows an empty selector as nothing at all."""
    try:
        return requirements_text(at(deployment, "spec", "selector"))
    except UnknownOperator:
        return "<invalid>"


def replica_cells(workload: Object, now: datetime) -> list[Any]:
    """What ReplicaSet and ReplicationController have in common."""
    return [
        name_of(workload),
        number(workload, "spec", "replicas"),
        number(workload, "status", "replicas"),
        number(workload, "status", "readyReplicas"),
        age(workload, now),
        *template_cells(workload),
    ]


def replica_set_cells(replica_set: Object, now: datetime) -> list[Any]:
    return [*replica_cells(replica_set, now), selector_text(at(replica_set, "spec", "selector"))]


def replication_controller_cells(controller: Object, now: datetime) -> list[Any]:
    return [*replica_cells(controller, now), labels_text(mapping(controller, "spec", "selector"))]


def stateful_set_cells(stateful_set: Object, now: datetime) -> list[Any]:
    return [
        name_of(stateful_set),
        ready_of_desired(stateful_set),
        age(stateful_set, now),
        *template_cells(stateful_set),
    ]


def daemon_set_cells(daemon_set: Object, now: datetime) -> list[Any]:
    status = mapping(daemon_set, "status")
    return [
        name_of(daemon_set),
        number(status, "desiredNumberScheduled"),
        number(status, "currentNumberScheduled"),
        number(status, "numberReady"),
        number(status, "updatedNumberScheduled"),
        number(status, "numberAvailable"),
        labels_text(mapping(daemon_set, "spec", "template", "spec", "nodeSelector")),
        age(daemon_set, now),
        *template_cells(daemon_set),
        selector_text(at(daemon_set, "spec", "selector")),
    ]


def controller_revision_cells(revision: Object, now: datetime) -> list[Any]:
    owners = entries(revision, "metadata", "ownerReferences")
    controller = next((owner_text(owner) for owner in owners if owner.get("controller")), NONE)
    return [name_of(revision), controller, number(revision, "revision"), age(revision, now)]


def owner_text(owner: Object) -> str:
    """`statefulset.apps/web`."""
    group = text(owner, "apiVersion").rpartition("/")[0]
    kind = f"{text(owner, 'kind')}.{group}" if group else text(owner, "kind")
    return f"{kind.lower()}/{text(owner, 'name')}"


def scale_cells(scale: Object, now: datetime) -> list[Any]:
    desired, current = number(scale, "spec", "replicas"), number(scale, "status", "replicas")
    return [name_of(scale), desired, current, age(scale, now)]


def replica_columns(kind: str) -> tuple[Column, ...]:
    return (
        NAME,
        documented("Desired", f"{kind}Spec.replicas", value_type="integer"),
        documented("Current", f"{kind}Status.replicas", value_type="integer"),
        documented("Ready", f"{kind}Status.readyReplicas", value_type="integer"),
        AGE,
        CONTAINERS,
        IMAGES,
        documented("Selector", f"{kind}Spec.selector", priority=WIDE),
    )


READY: Final = Column("Ready", "Number of the pod with ready state")

DEPLOYMENT_COLUMNS: Final = (
    NAME,
    READY,
    documented("Up-to-date", "DeploymentStatus.updatedReplicas"),
    documented("Available", "DeploymentStatus.availableReplicas"),
    AGE,
    CONTAINERS,
    IMAGES,
    documented("Selector", "DeploymentSpec.selector", priority=WIDE),
)

DAEMON_SET_COLUMNS: Final = (
    NAME,
    documented("Desired", "DaemonSetStatus.desiredNumberScheduled", value_type="integer"),
    documented("Current", "DaemonSetStatus.currentNumberScheduled", value_type="integer"),
    documented("Ready", "DaemonSetStatus.numberReady", value_type="integer"),
    documented("Up-to-date", "DaemonSetStatus.updatedNumberScheduled", value_type="integer"),
    documented("Available", "DaemonSetStatus.numberAvailable", value_type="integer"),
    documented("Node Selector", "PodSpec.nodeSelector"),
    AGE,
    CONTAINERS,
    IMAGES,
    documented("Selector", "DaemonSetSpec.selector", priority=WIDE),
)

CONTROLLER_REVISION_COLUMNS: Final = (
    NAME,
    Column("Controller", "Controller of the object"),
    documented("Revision", "ControllerRevision.revision"),
    AGE,
)

SCALE_COLUMNS: Final = (
    documented("Name", "ObjectMeta.name"),
    documented("Desired", "ScaleSpec.replicas", value_type="integer"),
    documented("Available", "ScaleStatus.replicas", value_type="integer"),
    AGE,
)

PRINTERS: Final[Printers] = {
    ("apps", "Deployment"): Printer(
        DEPLOYMENT_COLUMNS,
        deployment_cells,
        hidden_annotations=frozenset({"deprecated.deployment.rollback.revision"}),
    ),
    ("apps", "ReplicaSet"): Printer(replica_columns("ReplicaSet"), replica_set_cells),
    ("apps", "StatefulSet"): Printer((NAME, READY, AGE, CONTAINERS, IMAGES), stateful_set_cells),
    ("apps", "DaemonSet"): Printer(
        DAEMON_SET_COLUMNS,
        daemon_set_cells,
        hidden_annotations=frozenset({"deprecated.daemonset.template.generation"}),
    ),
    ("apps", "ControllerRevision"): Printer(CONTROLLER_REVISION_COLUMNS, controller_revision_cells),
    ("", "ReplicationController"): Printer(
        replica_columns("ReplicationController"), replication_controller_cells
    ),
    ("autoscaling", "Scale"): Printer(SCALE_COLUMNS, scale_cells),
}
