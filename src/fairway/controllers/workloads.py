"""Views of the workload kinds, as the controllers that run them see them.

Templates stay plain JSON: they are handed on to the Pods whole, with fields no controller knows of.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from fairway.api.objects import ObjectMeta, View
from fairway.controllers.selectors import LabelSelector

Template = dict[str, Any]


class WorkloadCondition(View, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_update_time: str | None = None


# ---- ReplicaSet, ReplicationController -----------------------------------------------------------------


class ReplicaSetSpec(View, frozen=True):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: LabelSelector = LabelSelector()
    template: Template = msgspec.field(default_factory=dict)


class ReplicaSetStatus(View, frozen=True):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    observed_generation: int = 0
    conditions: list[WorkloadCondition] | None = None


class ReplicaSet(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class ReplicationControllerSpec(View, frozen=True):
    replicas: int = 1
    min_ready_seconds: int = 0
    template: Template = msgspec.field(default_factory=dict)
    labels: dict[str, str] | None = msgspec.field(default=None, name="selector")

    @property
    def selector(self) -> LabelSelector:
        """Spelled `{"app": "web"}` where newer kinds say `{"matchLabels": {"app": "web"}}`."""
        return LabelSelector(match_labels=self.labels)


class ReplicationController(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class ReplicaSpec(Protocol):
    @property
    def replicas(self) -> int: ...
    @property
    def min_ready_seconds(self) -> int: ...
    @property
    def selector(self) -> LabelSelector: ...
    @property
    def template(self) -> Template: ...


class ReplicaOwner(Protocol):
    """What a ReplicaSet and a ReplicationController have in common: all that running one takes."""

    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def spec(self) -> ReplicaSpec: ...
    @property
    def status(self) -> ReplicaSetStatus: ...


# ---- Deployment ----------------------------------------------------------------------------------------


class RollingUpdateDeployment(View, frozen=True):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class DeploymentStrategy(View, frozen=True):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdateDeployment | None = None


class DeploymentSpec(View, frozen=True):
    replicas: int = 1
    paused: bool = False
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None
    progress_deadline_seconds: int | None = None
    selector: LabelSelector = LabelSelector()
    strategy: DeploymentStrategy = DeploymentStrategy()
    template: Template = msgspec.field(default_factory=dict)


class DeploymentStatus(View, frozen=True):
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    observed_generation: int = 0
    collision_count: int | None = None
    conditions: list[WorkloadCondition] | None = None


class Deployment(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


# ---- StatefulSet, DaemonSet, their revisions -----------------------------------------------------------


class ControllerRevision(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    revision: int = 0
    data: dict[str, Any] | None = None


class RollingUpdate(View, frozen=True):
    partition: int = 0
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class UpdateStrategy(View, frozen=True):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class Ordinals(View, frozen=True):
    start: int = 0


class StatefulSetSpec(View, frozen=True):
    replicas: int = 1
    service_name: str = ""
    min_ready_seconds: int = 0
    pod_management_policy: str = "OrderedReady"
    revision_history_limit: int | None = None
    ordinals: Ordinals = Ordinals()
    selector: LabelSelector = LabelSelector()
    update_strategy: UpdateStrategy = UpdateStrategy()
    template: Template = msgspec.field(default_factory=dict)
    volume_claim_templates: list[dict[str, Any]] | None = None


class StatefulSetStatus(View, frozen=True):
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    observed_generation: int = 0
    collision_count: int | None = None


class StatefulSet(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetSpec(View, frozen=True):
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None
    selector: LabelSelector = LabelSelector()
    update_strategy: UpdateStrategy = UpdateStrategy()
    template: Template = msgspec.field(default_factory=dict)


class DaemonSetStatus(View, frozen=True):
    current_number_scheduled: int = 0
    desired_number_scheduled: int = 0
    number_misscheduled: int = 0
    number_ready: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    updated_number_scheduled: int = 0
    observed_generation: int = 0
    collision_count: int | None = None


class DaemonSet(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


# ---- status patches ------------------------------------------------------------------------------------


def status_changes(old: View, new: View, always: tuple[str, ...] = ()) -> dict[str, Any]:
    """A merge patch from one status to another; empty if they are the same.

    A zero or an empty list is taken away rather than written: Kubernetes leaves such fields out, except
    those named in `always`.
    """
    if old == new:
        return {}
    before, after = msgspec.to_builtins(old), msgspec.to_builtins(new)
    patch: dict[str, Any] = {}
    for name in {*before, *after, *always}:
        value = after.get(name, 0 if name in always else None)
        if value != before.get(name) or name in always:
            patch[name] = value
    return patch
