"""Pods and Services for tests, as short as can be."""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.api.objects import Service
from fairway.nodeagent.objects import Pod

UID = "5f0c6ad2-9d9d-4c56-8a06-1f2e3d4c5b6a"


def make_pod(name: str = "web-1", *, namespace: str = "default", uid: str = UID, **spec: Any) -> Pod:
    """Keywords are fields of the spec as the API spells them; `metadata` and `status` may be given too."""
    metadata = {"name": name, "namespace": namespace, "uid": uid} | spec.pop("metadata", {})
    status = spec.pop("status", {})
    spec.setdefault("containers", [{"name": "main", "image": "busybox"}])
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod)


def make_service(name: str, address: str, *ports: dict[str, Any], namespace: str = "default") -> Service:
    meta = {"name": name, "namespace": namespace}
    return msgspec.convert({"metadata": meta, "spec": {"clusterIP": address, "ports": list(ports)}}, Service)
