"""Pods that wait at scheduling gates: where they may go can still be narrowed."""

from __future__ import annotations

from typing import Any, Final

from fairway.api.kind import Obj
from fairway.api.validation.fields import ErrorList, invalid_value
from fairway.api.validation.internal_form import shown, shown_list

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS: Final = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"


def without_gated_changes(spec: Obj, before: Obj) -> tuple[Obj, ErrorList]:
    """The spec with what a gated Pod may change put back, and what was wrong with those changes."""
    masked, errors = dict(spec), _validate_node_selector(spec, before)
    _put(masked, "nodeSelector", before.get("nodeSelector"))
    affinity, old = spec.get("affinity"), before.get("affinity")
    node, old_node = (affinity or {}).get("nodeAffinity"), (old or {}).get("nodeAffinity")
    if node == old_node:
        return masked, errors
    errors += _validate_node_affinity(node or {}, old_node or {})
    kept = {name: value for name, value in (affinity or {}).items() if name != "nodeAffinity"}
    if old_node is not None:
        kept["nodeAffinity"] = old_node
    _put(masked, "affinity", None if not kept and old is None else kept)
    return masked, errors


def _put(spec: Obj, name: str, value: Any) -> None:
    if value is None:
        spec.pop(name, None)
    else:
        spec[name] = value


def _validate_node_selector(spec: Obj, before: Obj) -> ErrorList:
    new, old = spec.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if all(new.get(key) == value for key, value in old.items()):
        return []
    detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
    return [invalid_value("spec.nodeSelector", dict(sorted(new.items())) or None, detail)]


def _validate_node_affinity(new: Obj, old: Obj) -> ErrorList:
    before = (old.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    after = (new.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    if not before:
        return []
    if len(before) != len(after):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        value = shown_list("core.v1.NodeSelectorTerm", after or None)
        return [invalid_value(TERMS, value, detail)]
    detail = "only additions are allowed (no mutations or deletions)"
    return [
        invalid_value(f"{TERMS}[{index}]", shown("core.v1.NodeSelectorTerm", term), detail)
        for index, (term, was) in enumerate(zip(after, before, strict=True))
        if not _only_added(term, was)
    ]


def _only_added(term: Obj, before: Obj) -> bool:
    parts = ("matchExpressions", "matchFields")
    if not any(before.get(part) for part in parts):
        return not any(term.get(part) for part in parts)
    return all(
        (term.get(part) or [])[: len(before.get(part) or [])] == (before.get(part) or []) for part in parts
    )
