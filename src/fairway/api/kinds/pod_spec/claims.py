"""Claims on storage, in templates: those of ephemeral volumes and of StatefulSets."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.names import validate_subdomain
from fairway.api.schema.quantity import value_of
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.metadata import validate_annotations
from fairway.api.validation.names import dns_subdomain_errors
from fairway.api.validation.selectors import validate_label_selector, validate_labels

ACCESS_MODES: Final = frozenset({"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"})
VOLUME_MODES: Final = frozenset({"Block", "Filesystem"})
METADATA: Final = ("annotations", "labels")
METADATA_ORDER: Final = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def validate_ephemeral(field: str, source: Obj) -> ErrorList:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return [required(f"{field}.volumeClaimTemplate")]
    place = f"{field}.volumeClaimTemplate"
    metadata = template.get("metadata") or {}
    errors = validate_annotations(f"{place}.metadata.annotations", metadata.get("annotations"))
    errors += validate_labels(f"{place}.metadata.labels", metadata.get("labels"))
    for name in METADATA_ORDER:
        if name not in METADATA and metadata.get(name):
            errors.append(forbidden_field(f"{place}.metadata.{name}", "cannot be set"))
    return errors + validate_claim_spec(f"{place}.spec", template.get("spec") or {})


def validate_claim_spec(field: str, spec: Obj) -> ErrorList:
    modes = spec.get("accessModes") or []
    errors: ErrorList = []
    if not modes:
        errors.append(required(f"{field}.accessModes", "at least 1 access mode is required"))
    if spec.get("selector") is not None:
        errors += validate_label_selector(f"{field}.selector", spec["selector"])
    errors += _validate_access_modes(f"{field}.accessModes", modes)
    errors += _validate_storage(f"{field}.resources[storage]", spec)
    if name := spec.get("storageClassName"):
        errors += validate_subdomain(f"{field}.storageClassName", name)
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{field}.volumeMode", mode, VOLUME_MODES))
    for source in ("dataSource", "dataSourceRef"):
        if spec.get(source) is not None:
            errors += _validate_data_source(f"{field}.{source}", spec[source])
    if name := spec.get("volumeAttributesClassName"):
        errors += validate_subdomain(f"{field}.volumeAttributesClassName", name)
    return errors


def _validate_access_modes(field: str, modes: list[str]) -> ErrorList:
    errors: ErrorList = [
        not_supported(field, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES
    ]
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES - {"ReadWriteOncePod"} for mode in modes):
        errors.append(forbidden_field(field, "may not use ReadWriteOncePod with other access modes"))
    return errors


def _validate_storage(field: str, spec: Obj) -> ErrorList:
    amount = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if amount is None:
        return [required(field)]
    return [] if value_of(amount) > 0 else [invalid_value(field, amount, "must be greater than zero")]


def _validate_data_source(field: str, source: Obj) -> ErrorList:
    errors: ErrorList = [required(f"{field}.{name}") for name in ("name", "kind") if not source.get(name)]
    group = source.get("apiGroup") or ""
    if not group and source.get("kind") != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid_value(f"{field}.kind", source.get("kind", ""), detail))
    if group:
        errors += [invalid_value(f"{field}.apiGroup", group, e) for e in dns_subdomain_errors(group)]
    return errors
