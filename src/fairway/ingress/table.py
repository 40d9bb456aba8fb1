"""Everything nginx is told, kept current: objects go in, and out comes what has changed, key by key. Pure.

A host, a backend's endpoints and a certificate are each one entry, so that a change of endpoints is one small
message however many Ingresses there are. What is wrong with an Ingress is kept beside it, as problems.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from fairway.api.objects import EndpointSlice, Service
from fairway.ingress import objects
from fairway.ingress.annotations import Options, Read, read
from fairway.ingress.objects import ConfigMap, Ingress, IngressClass, Secret
from fairway.ingress.plan import NOWHERE, Certificate, Plan

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"
SERVICE_NAME = "kubernetes.io/service-name"
FALLBACK = "fallback"
"""The entry of requests that no host or path is for."""
_encode = msgspec.json.Encoder().encode
V = TypeVar("V")


class Upstream(msgspec.Struct, frozen=True):
    """The endpoints of one port of one Service."""

    endpoints: tuple[tuple[str, int], ...] = ()


class Change(msgspec.Struct, frozen=True):
    """Entries to set, and entries to forget."""

    set: dict[str, bytes]
    forget: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.set or self.forget)


class Table:
    """Holds the newest objects; `take` gives what has changed since it was last called."""

    def __init__(self, controllers: frozenset[str], classless: bool = False) -> None:
        self._controllers = controllers
        self._classless = classless
        self._classes: dict[str, IngressClass] = {}
        self._ingresses: dict[str, Ingress] = {}
        self._services: dict[str, Service] = {}
        self._slices: dict[str, dict[str, EndpointSlice]] = {}
        self._secrets: dict[str, Secret] = {}
        self._headers: dict[str, ConfigMap] = {}
        self._read: dict[str, Read] = {}
        self._routes_stale = True
        self._stale_services: set[str] = set()
        self._entries: dict[str, bytes] = {}
        self._backends: dict[str, set[str]] = {}
        self.problems: dict[str, tuple[str, ...]] = {}
        self.files: dict[str, bytes] = {}

    # -- events ----------------------------------------------------------------------------------------

    def ingress_changed(self, key: str, old: Ingress | None, new: Ingress | None) -> None:
        if old and new and (old.spec, old.metadata.annotations) == (new.spec, new.metadata.annotations):
            self._ingresses[key] = new
            return
        _put(self._ingresses, key, new)
        self._read.pop(key, None)
        self._routes_stale = True

    def class_changed(self, key: str, old: IngressClass | None, new: IngressClass | None) -> None:
        _put(self._classes, key, new)
        self._routes_stale = True

    def secret_changed(self, key: str, old: Secret | None, new: Secret | None) -> None:
        _put(self._secrets, key, new)
        self._routes_stale = True

    def headers_changed(self, key: str, old: ConfigMap | None, new: ConfigMap | None) -> None:
        _put(self._headers, key, new)
        self._routes_stale = True

    def service_changed(self, key: str, old: Service | None, new: Service | None) -> None:
        _put(self._services, key, new)
        if old is None or new is None or old.spec != new.spec:
            self._routes_stale = True

    def slice_changed(self, key: str, old: EndpointSlice | None, new: EndpointSlice | None) -> None:
        for view in (old, new):
            if view:
                service = f"{view.metadata.namespace}/{view.metadata.label(SERVICE_NAME)}"
                _put(self._slices.setdefault(service, {}), key, new if view is new else None)
                self._stale_services.add(service)

    # -- results ---------------------------------------------------------------------------------------

    def take(self) -> Change:
        before = self._entries
        if self._routes_stale:
            self._entries = self._all()
        elif self._stale_services:
            ids = {name for service in self._stale_services for name in self._backends.get(service, ())}
            self._entries = before | {f"backend:{name}": self._upstream(name) for name in ids}
        self._routes_stale, self._stale_services = False, set()
        changed = {key: text for key, text in self._entries.items() if before.get(key) != text}
        return Change(changed, tuple(before.keys() - self._entries.keys()))

    def entries(self) -> Mapping[str, bytes]:
        return self._entries

    def ours(self) -> list[Ingress]:
        """The Ingresses that are for us, oldest first."""
        return sorted((i for i in self._ingresses.values() if self._is_ours(i)), key=lambda i: i.age)

    def _is_ours(self, ingress: Ingress) -> bool:
        name = ingress.spec.ingress_class_name or ingress.metadata.annotation(CLASS_ANNOTATION)
        if name:
            found = self._classes.get(name)
            return found is not None and found.spec.controller in self._controllers
        defaults = [c for c in self._classes.values() if c.metadata.annotation(DEFAULT_CLASS) == "true"]
        return self._classless or any(c.spec.controller in self._controllers for c in defaults)

    def options(self, ingress: Ingress) -> Options:
        return self.reading(ingress).options

    def reading(self, ingress: Ingress) -> Read:
        key = ingress.metadata.key
        if key not in self._read:
            self._read[key] = read(ingress.metadata.annotations)
        return self._read[key]

    # -- everything ------------------------------------------------------------------------------------

    def _all(self) -> dict[str, bytes]:
        plan = Plan(self)
        for ingress in self.ours():
            plan.add(ingress)
        self.problems, self.files = plan.problems(), plan.files
        self._backends = {}
        for name in plan.backends:
            self._backends.setdefault(name.rpartition(":")[0], set()).add(name)
        entries = {f"host:{name}": _encode(host) for name, host in plan.hosts()}
        entries |= {f"backend:{name}": self._upstream(name) for name in plan.backends}
        entries |= {f"sni:{host}": _encode(secret) for host, secret in plan.certified.items()}
        entries |= {f"certificate:{name}": _encode(each) for name, each in plan.certificates.items()}
        if plan.fallback:
            entries[FALLBACK] = _encode(plan.fallback)
        return entries

    def _upstream(self, name: str) -> bytes:
        service, _, port = name.rpartition(":")
        return _encode(Upstream(tuple(self._endpoints(service, port))))

    def _endpoints(self, key: str, port: str) -> Iterator[tuple[str, int]]:
        """Each once, those that are ready; if there is none, those that still serve while they go."""
        service = self._services.get(key)
        if service is None:
            return
        if service.spec.type == "ExternalName":
            yield service.spec.external_name, int(port)
            return
        wanted = next((p.name for p in service.spec.ports if str(p.port) == port), None)
        ready: dict[tuple[str, int], None] = {}
        leaving: dict[tuple[str, int], None] = {}
        for view in self._slices.get(key, {}).values():
            for number in (p.port for p in view.ports or () if (p.name or "") == wanted and p.port):
                for endpoint in view.endpoints or ():
                    conditions = endpoint.conditions
                    target = ready if conditions.ready is not False else leaving
                    if target is ready or (conditions.serving and conditions.terminating):
                        target[endpoint.addresses[0], number] = None
        yield from sorted(ready or leaving)

    # -- for the plan ----------------------------------------------------------------------------------

    def backend(self, namespace: str, backend: objects.Backend) -> tuple[str, str]:
        """A backend's name, and what is wrong with it."""
        if backend.service is None:
            return NOWHERE, "backend: only Services can be backends"
        key = f"{namespace}/{backend.service.name}"
        service, wanted = self._services.get(key), backend.service.port
        if service is None:
            return NOWHERE, f"backend: there is no Service {key}"
        for port in service.spec.ports:
            if port.port == wanted.number or (wanted.name and port.name == wanted.name):
                return f"{key}:{port.port}", ""
        return NOWHERE, f"backend: Service {key} has no port {wanted.name or wanted.number}"

    def certificate(self, key: str) -> Certificate | str:
        """A Secret's certificate, or what is wrong with it."""
        secret = self._secrets.get(key)
        if secret is None:
            return f"tls: there is no Secret {key}; the default certificate is served"
        try:
            pair = [base64.b64decode((secret.data or {})[name]) for name in ("tls.crt", "tls.key")]
            return Certificate(*(part.decode("ascii") for part in pair))
        except (KeyError, ValueError, binascii.Error):
            return f"tls: Secret {key} has no tls.crt and tls.key in PEM; the default certificate is served"

    def passwords(self, key: str) -> bytes | None:
        """The lines of a password file."""
        secret = self._secrets.get(key)
        data = (secret.data or {}) if secret else {}
        try:
            if "auth" in data:
                return base64.b64decode(data["auth"])
            pairs = {name: base64.b64decode(text) for name, text in data.items()}
        except binascii.Error:
            return None
        lines = [name.encode() + b":" + text for name, text in sorted(pairs.items())]
        return b"\n".join(lines) + b"\n" if lines and all(b"\n" not in line for line in lines) else None

    def custom_headers(self, key: str) -> Mapping[str, str] | None:
        found = self._headers.get(key)
        return (found.data or {}) if found else None


def _put(mapping: dict[str, V], key: str, value: V | None) -> None:
    if value is None:
        mapping.pop(key, None)
    else:
        mapping[key] = value


def keys_to_forget(present: Iterable[str], wanted: Mapping[str, bytes]) -> tuple[str, ...]:
    return tuple(sorted(set(present) - wanted.keys()))
