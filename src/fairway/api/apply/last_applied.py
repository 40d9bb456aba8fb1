"""The annotation in which `kubectl apply` used to keep what it applied, before the server kept track.

It lets users move to server-side apply without conflicts, and is kept true for those who move back.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.api.apply.compare import compare
from fairway.api.apply.configuration import claimed, faults
from fairway.api.apply.fieldset import FieldSet, difference
from fairway.api.apply.tracking import Obj, plain, structure
from fairway.api.resources import Resource

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
UPGRADING = "kubectl"
"""The manager that the annotation counts for."""

_encode = msgspec.json.Encoder(order="sorted").encode


def agreed_fields(resource: Resource, live: Obj) -> FieldSet | None:
    """Fields of the annotation that are in the object just so; None if it says nothing usable."""
    text = (live["metadata"].get("annotations") or {}).get(ANNOTATION)
    if not text:
        return None
    try:
        last: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != resource.api_version:
        return None
    whole = structure(resource)
    if faults(whole, last):
        return None
    last = {name: value for name, value in last.items() if name not in ("kind", "apiVersion")}
    differing = compare(whole, last, plain(live))
    return difference(difference(claimed(whole, last), differing.changed), differing.removed)


def synced(obj: Obj, configuration: Obj) -> Obj:
    """The object with its annotation, if it has one, as of this configuration."""
    annotations = obj["metadata"].get("annotations") or {}
    if not annotations.get(ANNOTATION):
        return obj
    metadata = {**(configuration.get("metadata") or {})}
    metadata.pop("managedFields", None)
    if ANNOTATION in (metadata.get("annotations") or {}):
        metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k != ANNOTATION}
    text = _encode({**configuration, "metadata": metadata}).decode() + "\n"
    return {**obj, "metadata": {**obj["metadata"], "annotations": {**annotations, ANNOTATION: text}}}
