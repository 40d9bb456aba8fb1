"""DaemonSets."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from fairway.api.kind import Kind, Obj, Status
from fairway.api.kinds.workloads.deployment import validate_fixed_selector
from fairway.api.kinds.workloads.numbers import amount_of, validate_collisions, validate_counts
from fairway.api.kinds.workloads.template import (
    changed_template_warnings,
    default_template,
    keep_status,
    set_default,
    template_warnings,
    validate_keeps_running,
    validate_match,
    validate_template,
)
from fairway.api.resources import DAEMON_SETS
from fairway.api.selectors import SelectorError
from fairway.api.validation.fields import ErrorList, invalid_value, not_supported, required
from fairway.api.validation.internal_form import shown
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.selectors import validate_label_selector
from fairway.api.validation.values import (
    validate_at_most_all,
    validate_non_negative,
    validate_number_or_percent,
)

# How often the template has changed; a field once, kept for clients of old.
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
STRATEGIES: Final = ("RollingUpdate", "OnDelete")
EMPTY_STATUS: Final = {
    "currentNumberScheduled": 0,
    "numberMisscheduled": 0,
    "desiredNumberScheduled": 0,
    "numberReady": 0,
}
COUNTS: Final = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def default(daemon_set: Obj) -> None:
    spec = default_template(daemon_set)
    strategy = spec.setdefault("updateStrategy", {})
    set_default(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        set_default(strategy, "rollingUpdate", {})
        set_default(strategy["rollingUpdate"], "maxUnavailable", 1)
        set_default(strategy["rollingUpdate"], "maxSurge", 0)
    set_default(spec, "revisionHistoryLimit", 10)


def template_generation(daemon_set: Obj) -> int:
    text = (daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0")
    return int(text) if text.isdigit() else 0


def _set_generation(daemon_set: Obj, generation: int) -> None:
    annotations = daemon_set["metadata"].get("annotations") or {}
    daemon_set["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: str(generation)}


def prepare_create(daemon_set: Obj) -> None:
    daemon_set["status"] = dict(EMPTY_STATUS)
    _set_generation(daemon_set, max(template_generation(daemon_set), 1))


def prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    changed = new["spec"].get("template") != old["spec"].get("template")
    _set_generation(new, template_generation(old) + changed)


def prepare_status(new: Obj, old: Obj) -> None:
    _set_generation(new, template_generation(old))


def validate(daemon_set: Obj) -> ErrorList:
    spec = daemon_set["spec"]
    selector, template = spec.get("selector"), spec["template"]
    errors = validate_label_selector("spec.selector", selector)
    with suppress(SelectorError):
        errors += validate_match("spec.template", selector, template)
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid_value("spec.selector", {}, "empty selector is invalid for daemonset"))
    errors += validate_template("spec.template", template)
    errors += validate_keeps_running("spec.template.spec", template["spec"], "DaemonSet")
    errors += validate_non_negative("spec.minReadySeconds", spec.get("minReadySeconds", 0))
    errors += validate_strategy("spec.updateStrategy", spec["updateStrategy"])
    return errors + validate_non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit") or 0)


def validate_strategy(field: str, strategy: Obj) -> ErrorList:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind not in STRATEGIES:
        return [not_supported(field, shown("apps.v1.DaemonSetUpdateStrategy", strategy), STRATEGIES)]
    if kind == "OnDelete":
        return []
    if rolling is None:
        return [required(f"{field}.rollingUpdate")]
    return _validate_rolling(f"{field}.rollingUpdate", rolling)


def _validate_rolling(field: str, rolling: Obj) -> ErrorList:
    """Either a Pod goes before its successor comes, or the other way round."""
    names = ("maxUnavailable", "maxSurge")
    errors: ErrorList = []
    for name in names:
        errors += validate_number_or_percent(f"{field}.{name}", rolling[name])
    for name in names:
        errors += validate_at_most_all(f"{field}.{name}", rolling[name])
    fewer, more = (amount_of(rolling[name]) != 0 for name in names)
    if fewer and more:
        detail = "may not be set when maxUnavailable is non-zero"
        errors.append(invalid_value(f"{field}.maxSurge", rolling["maxSurge"], detail))
    elif not fewer and not more:
        errors.append(required(f"{field}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def validate_update(new: Obj, old: Obj) -> ErrorList:
    return validate_kept_finalizers(new["metadata"]) + validate(new) + validate_fixed_selector(new, old)


def validate_status_update(new: Obj, old: Obj) -> ErrorList:
    return validate_counts("status", new.get("status") or {}, COUNTS) + validate_collisions(new, old)


DAEMON_SET = Kind(
    DAEMON_SETS,
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    warnings=template_warnings,
    update_warnings=changed_template_warnings,
    status=Status(validate_update=validate_status_update, prepare_update=prepare_status),
    generation=True,
)
