"""Namespaces as controllers see them: which are there to be used, which are going."""

from __future__ import annotations

from fairway.api.objects import ObjectMeta, View


class NamespaceSpec(View, frozen=True):
    finalizers: list[str] | None = None


class NamespaceStatus(View, frozen=True):
    phase: str = ""


class Namespace(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


def is_active(namespace: Namespace) -> bool:
    return namespace.metadata.deletion_timestamp is None
