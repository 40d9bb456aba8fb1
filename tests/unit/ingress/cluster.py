"""A small cluster of Ingresses for tests, and the requests that must find their way through it."""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.api.objects import EndpointSlice, Service
from fairway.ingress.config import CONTROLLER
from fairway.ingress.objects import ConfigMap, Ingress, IngressClass, Secret
from fairway.ingress.table import Table

ANNOTATION = "nginx.ingress.kubernetes.io/"


def service_backend(text: str) -> dict[str, Any]:
    """`name` or `name:port`, the port by number or by name."""
    name, _, port = text.partition(":")
    port = port or "80"
    return {"service": {"name": name, "port": {"number": int(port)} if port.isdigit() else {"name": port}}}


def ingress(
    name: str,
    *rules: tuple[str, str, str, str],
    default: str = "",
    tls: dict[str, list[str]] | None = None,
    namespace: str = "default",
    age: int = 0,
    class_name: str | None = "fairway",
    **annotations: str,
) -> Ingress:
    """Rules are (host, path type, path, backend)."""
    hosts: dict[str, list[dict[str, Any]]] = {}
    for host, kind, path, backend in rules:
        entry = {"path": path, "pathType": kind, "backend": service_backend(backend)}
        hosts.setdefault(host, []).append(entry)
    spec: dict[str, Any] = {
        "ingressClassName": class_name,
        "rules": [{"host": host, "http": {"paths": paths}} for host, paths in hosts.items()],
        "tls": [{"hosts": names, "secretName": secret} for secret, names in (tls or {}).items()],
    }
    if default:
        spec["defaultBackend"] = service_backend(default)
    metadata = {
        "name": name,
        "namespace": namespace,
        "creationTimestamp": f"2026-01-01T00:00:{age:02d}Z",
        "annotations": {ANNOTATION + key.replace("_", "-"): text for key, text in annotations.items()},
    }
    return msgspec.convert({"metadata": metadata, "spec": spec}, Ingress)


def service(name: str, namespace: str = "default", **spec: Any) -> Service:
    ports = [{"name": "http", "port": 80}, {"name": "admin", "port": 8080}]
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": namespace}, "spec": {"ports": ports} | spec}, Service
    )


def slice_of(
    name: str, *endpoints: tuple[str, int], namespace: str = "default", **conditions: bool
) -> EndpointSlice:
    """Endpoints of one address each; all must have the same port."""
    number = endpoints[0][1] if endpoints else 1
    return msgspec.convert(
        {
            "metadata": {
                "name": f"{name}-a",
                "namespace": namespace,
                "labels": {"kubernetes.io/service-name": name},
            },
            "ports": [{"name": "http", "port": number}, {"name": "admin", "port": number}],
            "endpoints": [{"addresses": [ip], "conditions": conditions} for ip, _ in endpoints],
        },
        EndpointSlice,
    )


class Cluster:
    """A table, and what is told to it."""

    def __init__(self) -> None:
        self.table = Table(frozenset({CONTROLLER}))
        self._known: dict[tuple[str, str], Any] = {}
        made = {"metadata": {"name": "fairway"}, "spec": {"controller": CONTROLLER}}
        self.put(msgspec.convert(made, IngressClass))

    def put(self, *objects: Any) -> None:
        for new in objects:
            self._tell(type(new), new.metadata.key, new)

    def remove(self, kind: type, key: str) -> None:
        self._tell(kind, key, None)

    def _tell(self, kind: type, key: str, new: Any) -> None:
        changed = {
            Ingress: self.table.ingress_changed,
            IngressClass: self.table.class_changed,
            Service: self.table.service_changed,
            EndpointSlice: self.table.slice_changed,
            Secret: self.table.secret_changed,
            ConfigMap: self.table.headers_changed,
        }[kind]
        old = self._known.get((kind.__name__, key))
        changed(key, old, new)
        self._known[kind.__name__, key] = new
