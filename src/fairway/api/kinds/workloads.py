"""Workloads: what keeps Pods running."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj, Scale, Status
from fairway.api.kinds.pod_template import default_pod_spec
from fairway.api.resources import (
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    DEPLOYMENTS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from fairway.api.tables.selector_text import requirements_text


def _default_template(workload: Obj) -> Obj:
    spec: Obj = workload.setdefault("spec", {})
    if template := spec.get("template"):
        template.setdefault("metadata", {})
        default_pod_spec(template.setdefault("spec", {}))
    return spec


def _without_status(workload: Obj) -> None:
    workload["status"] = {}


def _old_status(new: Obj, old: Obj) -> None:
    new["status"] = old.get("status", {})


def default_deployment(deployment: Obj) -> None:
    spec = _default_template(deployment)
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def default_replica_set(replica_set: Obj) -> None:
    _default_template(replica_set).setdefault("replicas", 1)


def default_stateful_set(stateful_set: Obj) -> None:
    spec = _default_template(stateful_set)
    spec.setdefault("replicas", 1)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    spec["persistentVolumeClaimRetentionPolicy"].setdefault("whenDeleted", "Retain")
    spec["persistentVolumeClaimRetentionPolicy"].setdefault("whenScaled", "Retain")


def default_daemon_set(daemon_set: Obj) -> None:
    spec = _default_template(daemon_set)
    strategy = spec.setdefault("updateStrategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)


def default_replication_controller(controller: Obj) -> None:
    spec = _default_template(controller)
    spec.setdefault("replicas", 1)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        controller["metadata"].setdefault("labels", dict(labels))


def _selector_text(workload: Obj) -> str:
    return requirements_text((workload.get("spec") or {}).get("selector"))


def _plain_selector_text(controller: Obj) -> str:
    selector = (controller.get("spec") or {}).get("selector") or {}
    return ",".join(f"{name}={value}" for name, value in sorted(selector.items()))


def _status_replicas(workload: Obj) -> str:
    return str((workload.get("status") or {}).get("replicas", 0))


DEPLOYMENT = Kind(
    DEPLOYMENTS,
    default=default_deployment,
    prepare_create=_without_status,
    prepare_update=_old_status,
    status=Status(keeps=("labels",)),
    scale=Scale(_selector_text),
    generation=True,
)
REPLICA_SET = Kind(
    REPLICA_SETS,
    default=default_replica_set,
    prepare_create=_without_status,
    prepare_update=_old_status,
    status=Status(),
    scale=Scale(_selector_text),
    generation=True,
    fields={"status.replicas": _status_replicas},
)
STATEFUL_SET = Kind(
    STATEFUL_SETS,
    default=default_stateful_set,
    prepare_create=_without_status,
    prepare_update=_old_status,
    status=Status(),
    scale=Scale(_selector_text),
    generation=True,
)
DAEMON_SET = Kind(
    DAEMON_SETS,
    default=default_daemon_set,
    prepare_create=_without_status,
    prepare_update=_old_status,
    status=Status(),
    generation=True,
)
REPLICATION_CONTROLLER = Kind(
    REPLICATION_CONTROLLERS,
    dependents="Orphan",
    default=default_replication_controller,
    prepare_create=_without_status,
    prepare_update=_old_status,
    status=Status(),
    scale=Scale(_plain_selector_text),
    generation=True,
    fields={"status.replicas": _status_replicas},
)
CONTROLLER_REVISION = Kind(CONTROLLER_REVISIONS)
