"""ControllerRevisions: the templates a StatefulSet or DaemonSet has had, each under a name of its own.

Pure: which revision is the current template, and the writes that make the history say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.api.objects import ObjectMeta, OwnerReference
from fairway.api.resources import CONTROLLER_REVISIONS
from fairway.controllers.podhash import pruned, template_hash
from fairway.controllers.workloads import ControllerRevision, Template
from fairway.controllers.writes import Create, Delete, Patch, Write

HISTORY_LIMIT = 10
_NOT_COPIED = ("kubectl.kubernetes.io/last-applied-configuration",)


@dataclass(frozen=True, slots=True)
class Current:
    """The revision of the current template, or the write that will make it."""

    revision: ControllerRevision | None
    write: Write | None


def current_revision(
    owner: ObjectMeta,
    reference: OwnerReference,
    template: Template,
    history: Iterable[ControllerRevision],
    hash_label: str,
    collisions: int | None,
) -> Current:
    """An old revision that says the same is taken up again, with a new number: that is a rollback."""
    known = sorted(history, key=lambda r: (r.revision, r.metadata.name))
    data = revision_data(template)
    same = [r for r in known if pruned(r.data) == pruned(data)]
    number = known[-1].revision + 1 if known else 1
    if same and same[-1] is known[-1]:
        return Current(same[-1], None)
    if same:
        meta = same[-1].metadata
        patch = {"metadata": {"resourceVersion": meta.resource_version}, "revision": number}
        return Current(None, Patch(CONTROLLER_REVISIONS, meta.namespace, meta.name, patch))
    digest = template_hash(data, collisions)
    labels = {**((template.get("metadata") or {}).get("labels") or {}), hash_label: digest}
    notes = {k: v for k, v in (owner.annotations or {}).items() if k not in _NOT_COPIED}
    body = {
        "apiVersion": CONTROLLER_REVISIONS.api_version,
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": {
            "name": f"{owner.name}-{digest}",
            "namespace": owner.namespace,
            "labels": labels,
            "annotations": notes,
            "ownerReferences": [reference],
        },
        "data": data,
        "revision": number,
    }
    return Current(None, Create(CONTROLLER_REVISIONS, owner.namespace, body))


def revision_data(template: Template) -> dict[str, Any]:
    """A strategic merge patch that restores the template, as `kubectl rollout undo` expects it."""
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def template_of(revision: ControllerRevision) -> Template:
    kept = ((revision.data or {}).get("spec") or {}).get("template") or {}
    return {key: value for key, value in kept.items() if key != "$patch"}


def surplus_revisions(
    history: Sequence[ControllerRevision],
    live: frozenset[str],
    limit: int | None,
    *,
    live_count: bool = False,
) -> tuple[Delete, ...]:
    """The oldest revisions nobody runs, beyond the limit. `live` names those in use.

    A StatefulSet keeps as many besides the live ones, a DaemonSet counts those too: `live_count`.
    """
    unused = sorted((r for r in history if r.metadata.name not in live), key=lambda r: r.revision)
    kept = HISTORY_LIMIT if limit is None else limit
    count = max(0, len(history if live_count else unused) - kept)
    metas = [r.metadata for r in unused[:count]]
    return tuple(Delete(CONTROLLER_REVISIONS, m.namespace, m.name, m.uid) for m in metas)
