"""Object metadata: names, labels, annotations, owners, finalizers; on creation and on update.

managedFields are the server's own and not looked at here. The rest of an object is each kind's matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_for_each,
    invalid_value,
    required,
    too_long,
)
from fairway.api.validation.names import NameErrors, label_name, qualified_name_errors
from fairway.api.validation.quoting import quoted
from fairway.api.validation.selectors import validate_labels
from fairway.api.validation.values import validate_immutable, validate_non_negative

ANNOTATIONS_LIMIT: Final = 256 * 1024
STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
EXCLUSIVE_FINALIZERS: Final = ("orphan", "foregroundDeletion")
# An Event goes by itself, and would take along what it owns.
BANNED_OWNERS: Final = frozenset({("v1", "Event")})
OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
IMMUTABLE_FIELDS: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)

Object = Mapping[str, Any]


def validate_metadata(
    metadata: Object, *, namespaced: bool, name_errors: NameErrors, field: str = "metadata"
) -> ErrorList:
    """The metadata of an object that is to be created, its name generated already if it is to be."""
    return [
        *validate_names(metadata, name_errors, field),
        *validate_namespace(metadata, namespaced, field),
        *validate_non_negative(f"{field}.generation", metadata.get("generation") or 0),
        *validate_labels(f"{field}.labels", metadata.get("labels")),
        *validate_annotations(f"{field}.annotations", metadata.get("annotations")),
        *validate_owner_references(f"{field}.ownerReferences", metadata.get("ownerReferences") or []),
        *validate_finalizers(f"{field}.finalizers", metadata.get("finalizers") or []),
        *validate_qualified_finalizers(f"{field}.finalizers", metadata.get("finalizers") or []),
    ]


def validate_metadata_update(new: Object, old: Object, field: str = "metadata") -> ErrorList:
    errors = [
        *validate_labels(f"{field}.labels", new.get("labels")),
        *validate_annotations(f"{field}.annotations", new.get("annotations")),
        *validate_owner_references(f"{field}.ownerReferences", new.get("ownerReferences") or []),
        *validate_finalizers(f"{field}.finalizers", new.get("finalizers") or []),
    ]
    if old.get("deletionTimestamp"):
        errors += validate_no_new_finalizers(f"{field}.finalizers", new, old)
    if not new.get("resourceVersion"):
        errors.append(invalid_value(f"{field}.resourceVersion", "", "must be specified for an update"))
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        errors.append(
            invalid_value(f"{field}.generation", new.get("generation") or 0, "must not be decremented")
        )
    for name in IMMUTABLE_FIELDS:
        errors += validate_immutable(f"{field}.{name}", new.get(name), old.get(name))
    return errors


def validate_names(metadata: Object, name_errors: NameErrors, field: str) -> ErrorList:
    generate, name = metadata.get("generateName") or "", metadata.get("name") or ""
    errors: ErrorList = []
    if generate:
        errors += invalid_for_each(f"{field}.generateName", generate, name_errors(generate, True))
    if not name:
        return [*errors, required(f"{field}.name", "name or generateName is required")]
    return errors + invalid_for_each(f"{field}.name", name, name_errors(name, False))


def validate_namespace(metadata: Object, namespaced: bool, field: str) -> ErrorList:
    value = metadata.get("namespace") or ""
    if not namespaced:
        return [forbidden_field(f"{field}.namespace", "not allowed on this type")] if value else []
    if not value:
        return [required(f"{field}.namespace")]
    return invalid_for_each(f"{field}.namespace", value, label_name(value, False))


def validate_annotations(field: str, value: Mapping[str, str] | None) -> ErrorList:
    """Keys are qualified names in any case; all together they must not be too large."""
    value = value or {}
    errors: ErrorList = []
    for key in sorted(value):
        errors += invalid_for_each(field, key, qualified_name_errors(key.lower()))
    if sum(len(key.encode()) + len(text.encode()) for key, text in value.items()) > ANNOTATIONS_LIMIT:
        errors.append(too_long(field, ANNOTATIONS_LIMIT))
    return errors


def validate_owner_references(field: str, references: Sequence[Object]) -> ErrorList:
    errors: ErrorList = []
    controller = ""
    for index, reference in enumerate(references):
        errors += validate_owner_reference(f"{field}[{index}]", reference)
        if not reference.get("controller"):
            continue
        name = f"{reference.get('kind')}/{reference.get('name')}"
        if controller:
            errors.append(invalid_value(field, _shown_owners(references), _two_controllers(controller, name)))
        controller = controller or name
    return errors


def validate_owner_reference(field: str, reference: Object) -> ErrorList:
    version, kind = reference.get("apiVersion") or "", reference.get("kind") or ""
    errors: ErrorList = []
    if not version.rpartition("/")[2] or version.count("/") > 1:
        errors.append(invalid_value(f"{field}.apiVersion", version, "version must not be empty"))
    for name in ("kind", "name", "uid"):
        if not reference.get(name):
            errors.append(required(f"{field}.{name}", "must not be empty"))
    if (version, kind) in BANNED_OWNERS:
        detail = f"/{version}, Kind={kind} is disallowed from being an owner"
        errors.append(invalid_value(field, _shown_owners([reference])[0], detail))
    return errors


def _two_controllers(first: str, second: str) -> str:
    return (
        "Only one reference can have Controller set to true. "
        f'Found "true" in references for {first} and {second}'
    )


def _shown_owners(references: Sequence[Object]) -> list[dict[str, Any]]:
    """In the order in which Kubernetes declares the fields."""
    return [{name: each[name] for name in OWNER_FIELDS if name in each} for each in references]


def validate_finalizers(field: str, value: Sequence[str]) -> ErrorList:
    errors: ErrorList = []
    for finalizer in value:
        errors += invalid_for_each(field, finalizer, qualified_name_errors(finalizer))
    if set(EXCLUSIVE_FINALIZERS) <= set(value):
        detail = f"finalizer {' and '.join(EXCLUSIVE_FINALIZERS)} cannot be both set"
        errors.append(invalid_value(field, list(value), detail))
    return errors


def validate_qualified_finalizers(field: str, value: Sequence[str]) -> ErrorList:
    """Finalizers without a domain are Kubernetes' own."""
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid_value(f"{field}[{index}]", finalizer, detail)
        for index, finalizer in enumerate(value)
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
    ]


def validate_kept_finalizers(metadata: Object, field: str = "metadata.finalizers") -> ErrorList:
    """For kinds whose updates, too, want every finalizer to be Kubernetes' own or of a domain."""
    finalizers = metadata.get("finalizers")
    return validate_qualified_finalizers(field, finalizers) if finalizers else []


def validate_no_new_finalizers(field: str, new: Object, old: Object) -> ErrorList:
    """An object that is being deleted can't be held back any further."""
    added = sorted(set(new.get("finalizers") or []) - set(old.get("finalizers") or []))
    if not added:
        return []
    listed = ", ".join(quoted(finalizer) for finalizer in added)
    detail = (
        "no new finalizers can be added if the object is being deleted, "
        f"found new finalizers []string{{{listed}}}"
    )
    return [forbidden_field(field, detail)]
