"""All Ingresses put together: hosts with their routes, backends, certificates, password files. Pure.

What can't be carried out is left out and told as a problem of its Ingress; it never takes others down.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from fairway.ingress import objects
from fairway.ingress.annotations import Options, Read
from fairway.ingress.objects import Ingress
from fairway.ingress.routes import EXACT, PREFIX, REGEX, Alternative, Host, Route, in_order

_HOST = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*|", re.ASCII)
_LONGEST_HOST, _LONGEST_PATH = 253, 4096
NOWHERE = "-"
"""The backend of a route whose Service can't be found: answers 503."""


class Certificate(msgspec.Struct, frozen=True):
    certificate: str
    key: str


class Known(Protocol):
    """What a plan asks about other objects."""

    def reading(self, ingress: Ingress) -> Read: ...

    def backend(self, namespace: str, backend: objects.Backend) -> tuple[str, str]:
        """A backend's name, and what is wrong with it."""

    def certificate(self, key: str) -> Certificate | str:
        """A Secret's certificate, or what is wrong with it."""

    def passwords(self, key: str) -> bytes | None:
        """The lines of a password file."""

    def custom_headers(self, key: str) -> Mapping[str, str] | None: ...


class Plan:
    """All Ingresses put together, one after the other."""

    def __init__(self, table: Known) -> None:
        self._table = table
        self._claims: dict[str, list[Route]] = {}
        self._canaries: list[tuple[str, Route]] = []
        self._problems: dict[str, list[str]] = {}
        self.backends: set[str] = set()
        self.certified: dict[str, str] = {}
        self.certificates: dict[str, Certificate] = {}
        self.files: dict[str, bytes] = {}
        self.fallback: Route | None = None

    def problems(self) -> dict[str, tuple[str, ...]]:
        return {key: tuple(dict.fromkeys(found)) for key, found in self._problems.items() if found}

    def _complain(self, ingress: Ingress, problem: str) -> None:
        self._problems[ingress.metadata.key].append(problem)

    def add(self, ingress: Ingress) -> None:
        reading = self._table.reading(ingress)
        self._problems[ingress.metadata.key] = list(reading.problems)
        self._add_certificates(ingress)
        secured = {host.lower() for tls in ingress.spec.tls or () for host in tls.hosts or ()}
        for host, route in self._routes(ingress, reading.options):
            route = msgspec.structs.replace(route, tls=_is_covered(host, secured))
            if reading.options.canary:
                self._canaries.append((host, route))
            else:
                self._claim(host, route)

    def _claim(self, host: str, route: Route) -> None:
        claims = self._claims.setdefault(host, [])
        other = next((claim for claim in claims if claim.claim == route.claim), None)
        if other and other.ingress != route.ingress:
            text = f'path "{route.path}" of host "{host}" is taken by the older Ingress {other.ingress}'
            self._problems[route.ingress].append(text)
        claims.append(route)

    def hosts(self) -> Iterator[tuple[str, Host]]:
        for host, claims in self._claims.items():
            routes = in_order(claims)
            for name, canary in self._canaries:
                if name == host:
                    routes = tuple(_with_canary(route, canary) for route in routes)
            yield host, Host(routes)

    def _routes(self, ingress: Ingress, options: Options) -> Iterator[tuple[str, Route]]:
        extra = self._extra(ingress, options)
        default = ingress.spec.default_backend
        for rule in ingress.spec.rules or ():
            host = rule.host.lower()
            if not _HOST.fullmatch(host) or len(host) > _LONGEST_HOST:
                self._complain(ingress, f'host "{host[:80]}" is no name')
                continue
            for path in rule.http.paths if rule.http else ():
                if len(path.path) > _LONGEST_PATH:
                    self._complain(ingress, f'path "{path.path[:80]}…" is too long')
                    continue
                route = self._route(ingress, path, options)
                yield host, msgspec.structs.replace(route, **extra)
        if default:
            anywhere = objects.Path("/", "Prefix", default)
            route = msgspec.structs.replace(self._route(ingress, anywhere, options), **extra)
            for host in dict.fromkeys(rule.host.lower() for rule in ingress.spec.rules or ()):
                if _HOST.fullmatch(host) and len(host) <= _LONGEST_HOST:
                    yield host, route
            if not ingress.spec.rules and self.fallback is None:
                self.fallback = route

    def _route(self, ingress: Ingress, path: objects.Path, options: Options) -> Route:
        meta = ingress.metadata
        name, problem = self._table.backend(meta.namespace, path.backend)
        if problem:
            self._complain(ingress, problem)
        else:
            self.backends.add(name)
        kind = EXACT if path.path_type == "Exact" else PREFIX
        if options.use_regex and path.path_type == "ImplementationSpecific":
            kind = REGEX
        return Route(path.path or "/", kind, name, meta.key, options)

    def _extra(self, ingress: Ingress, options: Options) -> dict[str, Any]:
        """What of the options needs other objects: password files and headers."""
        found: dict[str, Any] = {}
        if options.auth_secret:
            found["auth_file"] = self._password_file(ingress, options.auth_secret)
        if options.custom_headers:
            found["headers"] = self._custom_headers(ingress, options.custom_headers)
        return found

    def _password_file(self, ingress: Ingress, name: str) -> str:
        """Without passwords nobody gets in: an empty file lets no one pass."""
        key = name if "/" in name else f"{ingress.metadata.namespace}/{name}"
        lines = self._table.passwords(key) if key.startswith(f"{ingress.metadata.namespace}/") else None
        if lines is None:
            self._complain(ingress, f"auth: there is no usable Secret {key}; nobody can pass")
            lines = b""
        file = hashlib.sha256(key.encode()).hexdigest()[:32]
        self.files[file] = lines
        return file

    def _custom_headers(self, ingress: Ingress, name: str) -> tuple[tuple[str, str], ...]:
        key = name if "/" in name else f"{ingress.metadata.namespace}/{name}"
        headers = self._table.custom_headers(key)
        if headers is None:
            self._complain(ingress, f"custom-headers: there is no ConfigMap {key}")
            return ()
        good = {n: v for n, v in headers.items() if _is_header(n, v)}
        if good != headers:
            self._complain(ingress, f"custom-headers: not all in {key} are headers of HTTP")
        return tuple(sorted(good.items()))

    def _add_certificates(self, ingress: Ingress) -> None:
        for tls in ingress.spec.tls or ():
            if not tls.secret_name:
                continue
            key = f"{ingress.metadata.namespace}/{tls.secret_name}"
            found = self._table.certificate(key)
            if isinstance(found, str):
                self._complain(ingress, found)
                continue
            self.certificates[key] = found
            for host in tls.hosts or ():
                self.certified.setdefault(host.lower(), key)


def _with_canary(route: Route, canary: Route) -> Route:
    if canary.claim != route.claim or canary.options.canary is None:
        return route
    added = Alternative(canary.backend, canary.options.canary)
    return msgspec.structs.replace(route, alternatives=(*route.alternatives, added))


def _is_covered(host: str, secured: set[str]) -> bool:
    return host in secured or ("." in host and f"*.{host.partition('.')[2]}" in secured)


def _is_header(name: str, value: str) -> bool:
    token = name.replace("-", "").replace("_", "")
    return bool(token) and token.isascii() and token.isalnum() and value.isprintable() and value.isascii()
