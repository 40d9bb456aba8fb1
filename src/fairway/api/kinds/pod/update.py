"""What of a Pod's spec may change once it exists: images, deadlines that come nearer, more tolerations."""

from __future__ import annotations

from typing import Any, Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod.annotations import validate_annotation_update, validate_pod_annotations
from fairway.api.kinds.pod.gated import without_gated_changes
from fairway.api.kinds.pod.validation import validate_annotations_and_spec
from fairway.api.kinds.pod_spec.containers import validate_trimmed_image
from fairway.api.kinds.pod_spec.tolerations import validate_tolerations
from fairway.api.validation.fields import ErrorList, forbidden_field, invalid_value, required
from fairway.api.validation.internal_form import difference
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.values import validate_range

FIXED: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
LATEST_DEADLINE: Final = 2**31 - 1


def validate_update(new: Obj, old: Obj) -> ErrorList:
    errors = validate_kept_finalizers(new["metadata"]) + validate_annotations_and_spec(new)
    place = "metadata.annotations"
    errors += validate_annotation_update(place, new["metadata"], old["metadata"])
    errors += validate_pod_annotations(place, new["metadata"], new["spec"])
    return errors + validate_spec_update(new["spec"], old["spec"])


def validate_spec_update(spec: Obj, before: Obj) -> ErrorList:
    errors: ErrorList = []
    for part in ("containers", "initContainers"):
        if len(spec.get(part) or ()) != len(before.get(part) or ()):
            detail = "pod updates may not add or remove containers"
            return [*errors, forbidden_field(f"spec.{part}", detail)]
        errors += _validate_images(f"spec.{part}", spec.get(part) or [])
    wrong, stop = _validate_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    errors += wrong
    if stop:
        return errors
    errors += _validate_tolerations(spec.get("tolerations") or [], before.get("tolerations") or [])
    errors += _validate_gates(spec.get("schedulingGates") or [], before.get("schedulingGates") or [])
    return errors if spec == before else errors + _validate_rest(spec, before)


def _validate_images(field: str, containers: list[Obj]) -> ErrorList:
    errors: ErrorList = []
    for index, container in enumerate(containers):
        if not container.get("image"):
            errors.append(required(f"{field}[{index}].image"))
        errors += validate_trimmed_image(f"{field}[{index}]", container)
    return errors


def _validate_deadline(new: int | None, old: int | None) -> tuple[ErrorList, bool]:
    """Also whether that is all there is to say."""
    field = "spec.activeDeadlineSeconds"
    if new is None:
        if old is None:
            return [], False
        detail = "must not update from a positive integer to nil value"
        return [invalid_value(field, "null", detail)], False
    if errors := validate_range(field, new, 0, LATEST_DEADLINE):
        return errors, True
    if old is not None and old < new:
        return [invalid_value(field, new, "must be less than or equal to previous value")], True
    return [], False


def _validate_tolerations(new: list[Obj], old: list[Obj]) -> ErrorList:
    """How long something is tolerated may change; nothing that was tolerated may go."""
    if new == old:
        return validate_tolerations("spec.tolerations", new)
    kept = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in kept for toleration in old):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        return [forbidden_field("spec.tolerations", detail)]
    return validate_tolerations("spec.tolerations", new)


def _without_seconds(toleration: Obj) -> Obj:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _validate_gates(new: list[Obj], old: list[Obj]) -> ErrorList:
    known = {gate["name"] for gate in old}
    return [
        forbidden_field(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate['name']}'",
        )
        for index, gate in enumerate(new)
        if gate["name"] not in known
    ]


def _validate_rest(spec: Obj, before: Obj) -> ErrorList:
    """The new spec with everything put back that may change: it has to be the old one."""
    masked: Obj = dict(spec)
    for part in ("containers", "initContainers"):
        if containers := spec.get(part):
            masked[part] = [
                {**container, "image": old.get("image", "")}
                for container, old in zip(containers, before.get(part) or (), strict=False)
            ]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _put_back(masked, name, before.get(name))
    grace = before.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and masked.get("terminationGracePeriodSeconds") == 1:
        masked["terminationGracePeriodSeconds"] = grace
    errors: ErrorList = []
    if before.get("schedulingGates"):
        masked, errors = without_gated_changes(masked, before)
    if masked != before:
        diff = difference("core.v1.PodSpec", before, masked)
        errors.append(forbidden_field("spec", f"{FIXED}\n{diff}"))
    return errors


def _put_back(spec: Obj, name: str, value: Any) -> None:
    if value is None:
        spec.pop(name, None)
    else:
        spec[name] = value
