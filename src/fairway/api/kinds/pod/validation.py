"""Validation of a new Pod: its spec, and what is asked of Pods but not of templates."""

from __future__ import annotations

from fairway.api.kind import Obj
from fairway.api.kinds.pod.annotations import validate_pod_annotations, validate_profiles_agree
from fairway.api.kinds.pod_spec.containers import validate_trimmed_image
from fairway.api.kinds.pod_spec.validation import validate_pod_spec
from fairway.api.validation.fields import ErrorList, forbidden_field


def validate(pod: Obj) -> ErrorList:
    spec, metadata = pod["spec"], pod["metadata"]
    errors = validate_annotations_and_spec(pod)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden_field("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden_field("spec.nodeName", detail))
    return errors + validate_profiles_agree("spec", metadata, spec)


def validate_annotations_and_spec(pod: Obj) -> ErrorList:
    """On creation and on every update alike."""
    spec, metadata = pod["spec"], pod["metadata"]
    errors = validate_pod_annotations("metadata.annotations", metadata, spec)
    errors += validate_pod_spec("spec", spec, metadata)
    if not spec.get("serviceAccountName"):
        errors += _validate_no_tokens(spec)
    for part in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(part) or ()):
            errors += validate_trimmed_image(f"spec.{part}[{index}]", container)
    return errors


def _validate_no_tokens(spec: Obj) -> ErrorList:
    detail = "must not be specified when serviceAccountName is not set"
    return [
        forbidden_field(f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken", detail)
        for index, volume in enumerate(spec.get("volumes") or ())
        for number, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]
