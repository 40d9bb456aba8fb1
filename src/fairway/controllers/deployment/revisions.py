"""The ReplicaSets of a Deployment as its history: which is the current one, what each is annotated with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairway.api.objects import ObjectMeta
from fairway.api.resources import DEPLOYMENTS, REPLICA_SETS
from fairway.controllers.bounds import max_surge
from fairway.controllers.owners import controller_reference
from fairway.controllers.podhash import HASH_LABEL, same_template, template_hash
from fairway.controllers.workloads import Deployment, ReplicaSet, Template
from fairway.controllers.writes import Create

REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
NOT_COPIED = frozenset(
    (
        REVISION,
        HISTORY,
        DESIRED,
        MAXIMUM,
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
    )
)


@dataclass(frozen=True, slots=True)
class Fleet:
    """All ReplicaSets of a Deployment, oldest first; `new` is the one with the current template."""

    new: ReplicaSet | None
    old: tuple[ReplicaSet, ...]

    @property
    def all(self) -> tuple[ReplicaSet, ...]:
        return (*self.old, self.new) if self.new else self.old

    @property
    def active(self) -> tuple[ReplicaSet, ...]:
        return tuple(item for item in self.all if item.spec.replicas > 0)

    @property
    def size(self) -> int:
        return sum(item.spec.replicas for item in self.all)


def fleet_of(deployment: Deployment, sets: Iterable[ReplicaSet]) -> Fleet:
    ordered = sorted(sets, key=lambda s: (s.metadata.creation_timestamp or "", s.metadata.name))
    new = next((s for s in ordered if same_template(s.spec.template, deployment.spec.template)), None)
    return Fleet(new, tuple(s for s in ordered if s is not new))


def revision_of(meta: ObjectMeta) -> int:
    text = meta.annotation(REVISION, "0")
    return int(text) if text.isdecimal() else 0


def next_revision(fleet: Fleet) -> int:
    return max((revision_of(item.metadata) for item in fleet.old), default=0) + 1


def annotations_for(deployment: Deployment, current: ReplicaSet | None, revision: int) -> dict[str, str]:
    """What the current ReplicaSet's annotations should be, those it already has included."""
    notes = dict((current.metadata.annotations if current else None) or {})
    notes |= {k: v for k, v in (deployment.metadata.annotations or {}).items() if k not in NOT_COPIED}
    before = notes.get(REVISION)
    if before is None or not before.isdecimal() or int(before) < revision:
        notes[REVISION] = str(revision)
        if before:
            notes[HISTORY] = f"{notes[HISTORY]},{before}" if notes.get(HISTORY) else before
    return notes


def size_annotations(deployment: Deployment) -> dict[str, str]:
    """How big the whole was meant to be when a set was last sized: tells scaling from rolling over."""
    replicas = deployment.spec.replicas
    return {DESIRED: str(replicas), MAXIMUM: str(replicas + max_surge(deployment))}


def new_replica_set(deployment: Deployment, fleet: Fleet, replicas: int) -> Create:
    digest = template_hash(deployment.spec.template, deployment.status.collision_count)
    template = _hashed(deployment.spec.template, digest)
    selector = deployment.spec.selector
    notes = annotations_for(deployment, None, next_revision(fleet)) | size_annotations(deployment)
    meta = deployment.metadata
    body = {
        "apiVersion": REPLICA_SETS.api_version,
        "kind": REPLICA_SETS.kind,
        "metadata": {
            "name": f"{meta.name}-{digest}",
            "namespace": meta.namespace,
            "labels": template["metadata"]["labels"],
            "annotations": notes,
            "ownerReferences": [controller_reference(DEPLOYMENTS, meta)],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": deployment.spec.min_ready_seconds,
            "selector": {
                "matchLabels": {**(selector.match_labels or {}), HASH_LABEL: digest},
                "matchExpressions": selector.match_expressions or [],
            },
            "template": template,
        },
    }
    return Create(REPLICA_SETS, meta.namespace, body)


def _hashed(template: Template, digest: str) -> Template:
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), HASH_LABEL: digest}
    return {**template, "metadata": {**metadata, "labels": labels}}
