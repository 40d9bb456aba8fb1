"""What may change of ephemeral containers: more may come; what ran, ran."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod.annotations import validate_annotation_update
from fairway.api.kinds.pod.validation import validate_annotations_and_spec
from fairway.api.kinds.pod_spec.resource_claims import MIRROR
from fairway.api.validation.fields import ErrorList, forbidden_field
from fairway.api.validation.internal_form import difference

FIELD: Final = "spec.ephemeralContainers"


def validate_ephemeral_update(new: Obj, old: Obj) -> ErrorList:
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden_field("[]", "static pods do not support ephemeral containers")]
    errors = validate_annotations_and_spec(new)
    errors += validate_annotation_update("metadata.annotations", new["metadata"], old["metadata"])
    after = {each["name"]: each for each in new["spec"].get("ephemeralContainers") or ()}
    for known in old["spec"].get("ephemeralContainers") or ():
        errors += _validate_same(known, after.get(known["name"]))
    return errors


def _validate_same(known: Obj, now: Obj | None) -> ErrorList:
    if now == known:
        return []
    change = "removed\n"
    if now is not None:
        change = f"changed\n{difference('core.v1.EphemeralContainer', known, now)}"
    return [forbidden_field(FIELD, f'existing ephemeral containers "{known["name"]}" may not be {change}')]
