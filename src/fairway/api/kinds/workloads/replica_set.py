"""ReplicaSets."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Kind, Obj, Scale, Status
from fairway.api.kinds.pod_spec.warnings import name_warnings
from fairway.api.kinds.workloads.deployment import USED_IN, validate_fixed_selector
from fairway.api.kinds.workloads.numbers import validate_counts, validate_within_replicas
from fairway.api.kinds.workloads.template import (
    changed_template_warnings,
    default_template,
    keep_status,
    selector_text,
    set_default,
    template_warnings,
    validate_replicated_template,
    validate_selector,
    without_status,
)
from fairway.api.resources import REPLICA_SETS
from fairway.api.validation.fields import ErrorList
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.values import validate_non_negative

COUNTS: Final = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)
PARTS: Final = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def default(replica_set: Obj) -> None:
    set_default(default_template(replica_set), "replicas", 1)


def validate(replica_set: Obj) -> ErrorList:
    spec = replica_set["spec"]
    errors = validate_non_negative("spec.replicas", spec["replicas"])
    errors += validate_non_negative("spec.minReadySeconds", spec.get("minReadySeconds", 0))
    # Kubernetes speaks of Deployments here, too.
    errors += validate_selector("spec.selector", spec.get("selector"), "deployment")
    return errors + validate_replicated_template("spec", spec)


def validate_update(new: Obj, old: Obj) -> ErrorList:
    return validate_kept_finalizers(new["metadata"]) + validate(new) + validate_fixed_selector(new, old)


def validate_status_update(new: Obj, old: Obj) -> ErrorList:
    status = new.get("status") or {}
    return validate_counts("status", status, COUNTS) + validate_within_replicas("status", status, PARTS)


def warnings(replica_set: Obj) -> list[str]:
    return name_warnings(replica_set["metadata"]["name"], USED_IN) + template_warnings(replica_set)


REPLICA_SET = Kind(
    REPLICA_SETS,
    default=default,
    prepare_create=without_status({"replicas": 0}),
    prepare_update=keep_status,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    update_warnings=changed_template_warnings,
    status=Status(validate_update=validate_status_update),
    scale=Scale(selector_text),
    generation=True,
)
