"""Namespaces: they end in two steps, Terminating until their contents are gone."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Kind, Obj, Status, Subresource
from fairway.api.resources import NAMESPACES
from fairway.api.validation.fields import ErrorList, invalid_for_each, invalid_value
from fairway.api.validation.metadata import validate_kept_finalizers, validate_qualified_finalizers
from fairway.api.validation.names import label_name, qualified_name_errors

NAME_LABEL: Final = "kubernetes.io/metadata.name"
IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})


def default(namespace: Obj) -> None:
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: metadata["name"]}
    status = namespace.get("status")
    if status is not None and not status.get("phase"):
        status["phase"] = "Active"


def prepare_create(namespace: Obj) -> None:
    default(namespace)  # a generated name is known only now
    finalizers = (namespace.get("spec") or {}).get("finalizers") or []
    if "kubernetes" not in finalizers:
        finalizers = [*finalizers, "kubernetes"]
    namespace["spec"] = {"finalizers": finalizers}
    namespace["status"] = {"phase": "Active"}


def prepare_update(new: Obj, old: Obj) -> None:
    new["spec"], new["status"] = old.get("spec", {}), old.get("status", {})


def validate(namespace: Obj) -> ErrorList:
    errors: ErrorList = []
    for finalizer in namespace["spec"]["finalizers"]:
        errors += validate_finalizer("spec.finalizers", finalizer)
    return errors


def validate_finalizer(field: str, finalizer: str) -> ErrorList:
    errors = invalid_for_each(field, finalizer, qualified_name_errors(finalizer))
    unknown = validate_qualified_finalizers("", [finalizer])
    return errors + [invalid_value(field, finalizer, each.detail) for each in unknown]


def validate_finalize(new: Obj, old: Obj) -> ErrorList:
    """Writes to the finalize subresource."""
    errors: ErrorList = []
    for index, finalizer in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        errors += validate_finalizer(f"spec.finalizers[{index}]", finalizer)
    return errors


def validate_status_update(new: Obj, old: Obj) -> ErrorList:
    phase = (new.get("status") or {}).get("phase", "")
    ending = bool(new["metadata"].get("deletionTimestamp"))
    wanted, when = ("Terminating", "is not empty") if ending else ("Active", "is empty")
    if phase == wanted:
        return []
    detail = f"may only be '{wanted}' if `deletionTimestamp` {when}"
    return [invalid_value("status.Phase", phase, detail)]


NAMESPACE = Kind(
    NAMESPACES,
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=lambda new, old: validate_kept_finalizers(new["metadata"]),
    status=Status(validate_update=validate_status_update),
    returns_deleted=True,
    fields={"status.phase": lambda ns: str((ns.get("status") or {}).get("phase", ""))},
    name_errors=label_name,
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    extra=(Subresource("finalize", "Namespace", ("update",)),),
)
