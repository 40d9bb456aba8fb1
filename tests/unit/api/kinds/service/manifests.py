"""Services for the tests, as the API server has them after defaulting and allocation."""

from __future__ import annotations

from typing import Any

from fairway.api.kinds.service import SERVICE

Obj = dict[str, Any]


def service(kind: str = "ClusterIP", **spec: Any) -> Obj:
    """A valid Service of a type; fields given as None are left out."""
    fields: Obj = {"type": kind, "ports": [{"port": 80}]}
    if kind == "ExternalName":
        fields |= {"externalName": "db.example.com"}
    else:
        fields |= {
            "clusterIP": "10.96.0.5",
            "clusterIPs": ["10.96.0.5"],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
        }
    fields = {name: value for name, value in (fields | spec).items() if value is not None}
    obj: Obj = {"metadata": {"name": "a", "namespace": "ns"}, "spec": fields}
    SERVICE.default(obj)
    return obj


def annotated(obj: Obj, **annotations: str) -> Obj:
    obj["metadata"]["annotations"] = {name.replace("__", "/"): text for name, text in annotations.items()}
    return obj


def messages(obj: Obj) -> list[str]:
    return [error.message() for error in SERVICE.validate(obj)]


def update_messages(new: Obj, old: Obj) -> list[str]:
    return [error.message() for error in SERVICE.validate_update(new, old)]
