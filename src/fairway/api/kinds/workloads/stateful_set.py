"""StatefulSets."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Kind, Obj, Scale, Status
from fairway.api.kinds.pod_spec.claims import validate_claim_spec
from fairway.api.kinds.pod_spec.names import validate_label
from fairway.api.kinds.pod_spec.volume_defaults import default_claim_spec
from fairway.api.kinds.workloads.deployment import validate_fixed_selector
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
    validate_keeps_running,
    validate_match,
    validate_selector,
    validate_template,
    validate_template_metadata,
    without_status,
)
from fairway.api.resources import STATEFUL_SETS
from fairway.api.selectors import SelectorError
from fairway.api.validation.fields import ErrorList, invalid_value, not_supported, required
from fairway.api.validation.internal_form import shown
from fairway.api.validation.names import label_name
from fairway.api.validation.selectors import shown_selector
from fairway.api.validation.values import (
    IMMUTABLE,
    validate_at_most_all,
    validate_immutable,
    validate_non_negative,
    validate_number_or_percent,
)

MANAGEMENT: Final = ("OrderedReady", "Parallel")
STRATEGIES: Final = ("RollingUpdate", "OnDelete")
RETENTION: Final = ("Retain", "Delete")
COUNTS: Final = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
)
PARTS: Final = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")


def default(stateful_set: Obj) -> None:
    spec = default_template(stateful_set)
    set_default(spec, "podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    set_default(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        set_default(strategy, "rollingUpdate", {})
        set_default(strategy["rollingUpdate"], "partition", 0)
        set_default(strategy["rollingUpdate"], "maxUnavailable", 1)
    set_default(spec, "persistentVolumeClaimRetentionPolicy", {})
    for name in ("whenDeleted", "whenScaled"):
        set_default(spec["persistentVolumeClaimRetentionPolicy"], name, "Retain")
    set_default(spec, "replicas", 1)
    set_default(spec, "revisionHistoryLimit", 10)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"
        default_claim_spec(claim.setdefault("spec", {}))
        set_default(claim.setdefault("status", {}), "phase", "Pending")


def validate(stateful_set: Obj) -> ErrorList:
    return _validate_spec(stateful_set["spec"], is_new=True)


def _validate_spec(spec: Obj, is_new: bool) -> ErrorList:
    errors = _validate_policies(spec)
    if is_new:
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            errors += validate_claim_spec(f"spec.volumeClaimTemplates[{index}].spec", claim["spec"])
    errors += validate_non_negative("spec.replicas", spec["replicas"])
    errors += validate_non_negative("spec.minReadySeconds", spec.get("minReadySeconds", 0))
    start = (spec.get("ordinals") or {}).get("start", 0)
    errors += validate_non_negative("spec.ordinals.start", start)
    if is_new and spec.get("serviceName"):
        errors += validate_label("spec.serviceName", spec["serviceName"])
    errors += validate_selector("spec.selector", spec.get("selector"), "statefulset")
    errors += _validate_template(spec)
    return errors + validate_keeps_running("spec.template.spec", spec["template"]["spec"], "StatefulSet")


def _validate_policies(spec: Obj) -> ErrorList:
    errors: ErrorList = []
    management, strategy = spec.get("podManagementPolicy", ""), spec["updateStrategy"]
    if management not in MANAGEMENT:
        detail = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid_value("spec.podManagementPolicy", management, detail))
    errors += _validate_strategy("spec.updateStrategy", strategy)
    retention = spec["persistentVolumeClaimRetentionPolicy"]
    for name in ("whenDeleted", "whenScaled"):
        if retention.get(name) not in RETENTION:
            place = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            errors.append(not_supported(place, retention.get(name, ""), RETENTION))
    return errors


def _validate_strategy(field: str, strategy: Obj) -> ErrorList:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if not kind:
        return [required(field)]
    if kind not in STRATEGIES:
        value = shown("apps.v1.StatefulSetUpdateStrategy", strategy)
        return [invalid_value(field, value, "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    if kind == "OnDelete":
        value = shown("apps.v1.RollingUpdateStatefulSetStrategy", rolling)
        detail = "only allowed for updateStrategy 'RollingUpdate'"
        return [invalid_value(f"{field}.rollingUpdate", value, detail)]
    return _validate_rolling(f"{field}.rollingUpdate", rolling)


def _validate_rolling(field: str, rolling: Obj) -> ErrorList:
    errors = validate_non_negative(f"{field}.partition", rolling.get("partition") or 0)
    if (unavailable := rolling.get("maxUnavailable")) is not None:
        place = f"{field}.maxUnavailable"
        errors += validate_number_or_percent(place, unavailable)
        if amount_of(unavailable) == 0:
            errors.append(invalid_value(place, unavailable, "cannot be 0"))
        errors += validate_at_most_all(place, unavailable)
    return errors


def _validate_template(spec: Obj) -> ErrorList:
    """Claims become volumes; hostname and subdomain are the controller's to give."""
    selector, template = spec.get("selector"), spec["template"]
    try:
        errors = validate_match("spec.template", selector, template)
    except SelectorError:
        return [invalid_value("spec.selector", shown_selector(selector), "")]
    metadata = template.get("metadata") or {}
    pod = {name: value for name, value in template["spec"].items() if name not in ("subdomain", "hostname")}
    claims = {claim["metadata"].get("name", ""): claim for claim in spec.get("volumeClaimTemplates") or ()}
    if claims:
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
        pod["volumes"] = made + [v for v in pod.get("volumes") or () if v["name"] not in claims]
    errors += validate_template("spec.template", {"metadata": metadata, "spec": pod})
    return errors + validate_template_metadata("spec.template", metadata, pod)


def validate_update(new: Obj, old: Obj) -> ErrorList:
    errors = _validate_spec(new["spec"], is_new=False) + validate_fixed_selector(new, old)
    spec, before = new["spec"], old["spec"]
    for name in ("serviceName", "podManagementPolicy"):
        errors += validate_immutable(f"spec.{name}", spec.get(name, ""), before.get(name, ""))
    claims, old_claims = spec.get("volumeClaimTemplates") or [], before.get("volumeClaimTemplates") or []
    if claims != old_claims:
        value = [_shown_claim(claim) for claim in claims] or None
        errors.append(invalid_value("spec.volumeClaimTemplates", value, IMMUTABLE))
    return errors


def _shown_claim(claim: Obj) -> Obj:
    """Inside, an object's metadata is not set apart from its other fields."""
    spec = shown("core.v1.PersistentVolumeClaimSpec", claim.get("spec") or {})
    status = shown("core.v1.PersistentVolumeClaimStatus", claim.get("status") or {})
    return {**claim["metadata"], "Spec": spec, "Status": status}


def validate_status_update(new: Obj, old: Obj) -> ErrorList:
    status = new.get("status") or {}
    errors = validate_counts("status", status, COUNTS)
    errors += validate_within_replicas("status", status, PARTS, "status.readyReplicas")
    return errors + validate_collisions(new, old)


def warnings(stateful_set: Obj) -> list[str]:
    return template_warnings(stateful_set) + _limit_warnings(stateful_set)


def update_warnings(new: Obj, old: Obj) -> list[str]:
    return changed_template_warnings(new, old) + _limit_warnings(new)


def _limit_warnings(stateful_set: Obj) -> list[str]:
    if (stateful_set["spec"].get("revisionHistoryLimit") or 0) >= 0:
        return []
    return [
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is "
        "recommended"
    ]


STATEFUL_SET = Kind(
    STATEFUL_SETS,
    default=default,
    prepare_create=without_status({"replicas": 0, "availableReplicas": 0}),
    prepare_update=keep_status,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    update_warnings=update_warnings,
    status=Status(validate_update=validate_status_update),
    scale=Scale(selector_text),
    generation=True,
    name_errors=label_name,
)
