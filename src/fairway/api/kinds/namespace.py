"""Namespaces: they end in two steps, Terminating until their contents are gone."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj, Status, Subresource
from fairway.api.resources import NAMESPACES

NAME_LABEL = "kubernetes.io/metadata.name"


def default(namespace: Obj) -> None:
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})[NAME_LABEL] = metadata["name"]


def prepare_create(namespace: Obj) -> None:
    finalizers = (namespace.get("spec") or {}).get("finalizers") or []
    if "kubernetes" not in finalizers:
        finalizers = [*finalizers, "kubernetes"]
    namespace["spec"] = {"finalizers": finalizers}
    namespace["status"] = {"phase": "Active"}


def prepare_update(new: Obj, old: Obj) -> None:
    new["spec"] = old.get("spec", {})


NAMESPACE = Kind(
    NAMESPACES,
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    status=Status(),
    returns_deleted=True,
    fields={"status.phase": lambda ns: str((ns.get("status") or {}).get("phase", ""))},
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    extra=(Subresource("finalize", "Namespace", ("update",)),),
)
