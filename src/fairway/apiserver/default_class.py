"""The class of an Ingress that names none: the one marked as default, if there is one.

Kubernetes does this by admission, before anything else looks at the Ingress; so do we, as its companion.
"""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.networking.ingress import CLASS_ANNOTATION
from fairway.api.resources import INGRESS_CLASSES
from fairway.apiserver.commit import Rider
from fairway.apiserver.store import Store

IS_DEFAULT: Final = "ingressclass.kubernetes.io/is-default-class"


class DefaultIngressClass:
    def __init__(self, store: Store) -> None:
        self._store = store

    def ride(self, new: Obj | None, old: Obj | None) -> Rider:
        if new is not None and old is None:
            spec = new.setdefault("spec", {})
            annotations = new["metadata"].get("annotations") or {}
            if spec.get("ingressClassName") is None and CLASS_ANNOTATION not in annotations:
                classes = [entry.obj() for entry in self._store.bucket(INGRESS_CLASSES).in_order()]
                if name := default_class(classes):
                    spec["ingressClassName"] = name
        return Rider()


def default_class(classes: list[Obj]) -> str:
    """Of several the newest; of those made in the same second the first by name. Empty if there is none."""
    marked = [
        each["metadata"]
        for each in classes
        if (each["metadata"].get("annotations") or {}).get(IS_DEFAULT) == "true"
    ]
    if not marked:
        return ""
    newest = max(metadata["creationTimestamp"] for metadata in marked)
    return min(str(metadata["name"]) for metadata in marked if metadata["creationTimestamp"] == newest)
