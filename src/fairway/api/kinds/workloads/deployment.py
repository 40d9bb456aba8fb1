"""Deployments."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Kind, Obj, Scale, Status
from fairway.api.kinds.pod_spec.warnings import name_warnings
from fairway.api.kinds.workloads.numbers import (
    amount_of,
    validate_collisions,
    validate_counts,
    validate_within_replicas,
)
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
from fairway.api.resources import DEPLOYMENTS
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.internal_form import shown
from fairway.api.validation.selectors import shown_selector
from fairway.api.validation.values import (
    validate_at_most_all,
    validate_immutable,
    validate_non_negative,
    validate_number_or_percent,
)

USED_IN: Final = "Pod names and hostnames"
STRATEGIES: Final = ("Recreate", "RollingUpdate")
COUNTS: Final = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)


def default(deployment: Obj) -> None:
    spec = default_template(deployment)
    set_default(spec, "replicas", 1)
    strategy = spec.setdefault("strategy", {})
    set_default(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        set_default(strategy, "rollingUpdate", {})
        set_default(strategy["rollingUpdate"], "maxUnavailable", "25%")
        set_default(strategy["rollingUpdate"], "maxSurge", "25%")
    set_default(spec, "revisionHistoryLimit", 10)
    set_default(spec, "progressDeadlineSeconds", 600)


def prepare_update(new: Obj, old: Obj) -> None:
    """Annotations count as desired state here: they are how a roll-back is asked for."""
    keep_status(new, old)
    if new.get("spec") == old.get("spec") and _annotations(new) != _annotations(old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _annotations(deployment: Obj) -> Obj:
    return deployment["metadata"].get("annotations") or {}


def validate(deployment: Obj) -> ErrorList:
    spec = deployment["spec"]
    errors = validate_non_negative("spec.replicas", spec["replicas"])
    errors += validate_selector("spec.selector", spec.get("selector"), "deployment")
    errors += validate_replicated_template("spec", spec)
    errors += validate_strategy("spec.strategy", spec["strategy"])
    ready, deadline = spec.get("minReadySeconds", 0), spec.get("progressDeadlineSeconds")
    errors += validate_non_negative("spec.minReadySeconds", ready)
    errors += validate_non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit") or 0)
    if deadline is not None:
        errors += validate_non_negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= ready:
            detail = "must be greater than minReadySeconds"
            errors.append(invalid_value("spec.progressDeadlineSeconds", deadline, detail))
    return errors


def validate_strategy(field: str, strategy: Obj) -> ErrorList:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind not in STRATEGIES:
        return [not_supported(field, shown("apps.v1.DeploymentStrategy", strategy), STRATEGIES)]
    if kind == "Recreate":
        if rolling is None:
            return []
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden_field(f"{field}.rollingUpdate", detail)]
    if rolling is None:
        return [required(f"{field}.rollingUpdate", "this should be defaulted and never be nil")]
    return _validate_rolling(f"{field}.rollingUpdate", rolling)


def _validate_rolling(field: str, rolling: Obj) -> ErrorList:
    unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
    errors = validate_number_or_percent(f"{field}.maxUnavailable", unavailable)
    errors += validate_number_or_percent(f"{field}.maxSurge", surge)
    if amount_of(unavailable) == 0 and amount_of(surge) == 0:
        detail = "may not be 0 when `maxSurge` is 0"
        errors.append(invalid_value(f"{field}.maxUnavailable", unavailable, detail))
    return errors + validate_at_most_all(f"{field}.maxUnavailable", unavailable)


def validate_fixed_selector(new: Obj, old: Obj) -> ErrorList:
    selector, before = (shown_selector(each["spec"].get("selector")) for each in (new, old))
    return validate_immutable("spec.selector", "null" if selector is None else selector, before)


def validate_update(new: Obj, old: Obj) -> ErrorList:
    return validate(new) + validate_fixed_selector(new, old)


def validate_status_update(new: Obj, old: Obj) -> ErrorList:
    status = new.get("status") or {}
    errors = validate_counts("status", status, COUNTS)
    names = ("updatedReplicas", "readyReplicas", "availableReplicas")
    errors += validate_within_replicas("status", status, names)
    return errors + validate_collisions(new, old)


def warnings(deployment: Obj) -> list[str]:
    return name_warnings(deployment["metadata"]["name"], USED_IN) + template_warnings(deployment)


DEPLOYMENT = Kind(
    DEPLOYMENTS,
    default=default,
    prepare_create=without_status({}),
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    update_warnings=changed_template_warnings,
    status=Status(validate_update=validate_status_update, keeps=("labels",)),
    scale=Scale(selector_text),
    generation=True,
)
