"""What the server serves, told to clients: groups, versions, resources, plain and aggregated. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from fairway import __version__
from fairway.api.kind import Kind
from fairway.apiserver.health import CHECKS
from fairway.apiserver.negotiate import alternatives

Obj = dict[str, Any]

KUBERNETES = ("1", "37")
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def version() -> Obj:
    major, minor = KUBERNETES
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{major}.{minor}.0+fairway-{__version__}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "cpython",
        "platform": "linux/amd64",
    }


DOCUMENTS = (
    "/.well-known/openid-configuration",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/version",
)
# The order in which clients are shown groups, which for them is the order of preference.
GROUP_ORDER = (
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
)


class Discovery:
    def __init__(self, kinds: Iterable[Kind], address: str) -> None:
        self._groups: dict[str, dict[str, list[Kind]]] = {}
        for kind in sorted(kinds, key=lambda kind: _rank(kind.resource.group)):
            resource = kind.resource
            self._groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(kind)
        self._address = address

    def answer(self, path: str, accept: str) -> tuple[Obj, str] | None:
        """The document at a path and its content type, or None if there is none."""
        parts = path.strip("/").split("/")
        if parts in (["api"], ["apis"]) and prefers_aggregated(accept):
            return self._aggregated(core=parts[0] == "api"), AGGREGATED
        plain = self._plain(parts)
        return (plain, "application/json") if plain else None

    def _plain(self, parts: list[str]) -> Obj | None:
        match parts:
            case [""]:
                return {"paths": self._paths()}
            case ["api"]:
                return {
                    "kind": "APIVersions",
                    "versions": ["v1"],
                    "serverAddressByClientCIDRs": [
                        {"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}
                    ],
                }
            case ["apis"]:
                groups = [self._group(group) for group in self._groups if group]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case ["api", version] if version in self._groups[""]:
                return self._resources("", version)
            case ["apis", group] if group and group in self._groups:
                return {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}
            case ["apis", group, version] if version in self._groups.get(group, {}) and group:
                return self._resources(group, version)
        return None

    def _paths(self) -> list[str]:
        """All that can be asked for below the root."""
        groups = [f"/apis/{group}" for group in self._groups if group]
        versions = [
            f"/apis/{group}/{version}" if group else f"/api/{version}"
            for group, known in self._groups.items()
            for version in known
        ]
        health = [
            f"/{endpoint}{check}"
            for endpoint in ("healthz", "livez", "readyz")
            for check in ("", *(f"/{name}" for name in CHECKS))
        ]
        return sorted(["/api", "/apis", *groups, *versions, *health, *DOCUMENTS])

    def _group(self, group: str) -> Obj:
        versions = [
            {"groupVersion": f"{group}/{version}", "version": version} for version in self._groups[group]
        ]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _resources(self, group: str, version: str) -> Obj:
        resources = [
            entry
            for kind in sorted(self._groups[group][version], key=lambda kind: kind.resource.plural)
            for entry in (_resource(kind), *_subresources(kind))
        ]
        body: Obj = {"kind": "APIResourceList"}
        if group:
            body["apiVersion"] = "v1"
        return {
            **body,
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": resources,
        }

    def _aggregated(self, *, core: bool) -> Obj:
        items = [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {
                        "version": version,
                        "resources": [
                            _aggregated_resource(kind)
                            for kind in sorted(kinds, key=lambda kind: kind.resource.plural)
                        ],
                        "freshness": "Current",
                    }
                    for version, kinds in versions.items()
                ],
            }
            for group, versions in self._groups.items()
            if (group == "") == core
        ]
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": items,
        }


def _rank(group: str) -> int:
    return GROUP_ORDER.index(group) if group in GROUP_ORDER else len(GROUP_ORDER)


@lru_cache(maxsize=256)
def prefers_aggregated(accept: str) -> bool:
    """Whether a client wants everything in one document rather than piece by piece; older ones know neither
    this form nor how to say no to it."""
    for media, parameters in alternatives(accept):
        if media in ("application/json", "*/*"):
            wanted = tuple(parameters.get(name, "") for name in ("g", "v", "as"))
            if wanted == ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"):
                return True
            if wanted == ("", "", ""):
                return False
    return False


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """What Kubernetes publishes so that clients notice when the stored form changes."""
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()


def _names(kind: Kind) -> Obj:
    resource = kind.resource
    names: Obj = {}
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if resource.categories:
        names["categories"] = list(resource.categories)
    return names


def _resource(kind: Kind) -> Obj:
    resource = kind.resource
    entry: Obj = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(kind.verbs),
        **_names(kind),
    }
    if kind.stored:
        stored = kind.face.of if kind.face else resource
        entry["storageVersionHash"] = storage_version_hash(stored.group, stored.version, stored.kind)
    return entry


def _subresources(kind: Kind) -> list[Obj]:
    entries = []
    for subresource in kind.subresources():
        entry: Obj = {
            "name": f"{kind.resource.plural}/{subresource.name}",
            "singularName": "",
            "namespaced": kind.resource.namespaced,
        }
        if subresource.group:
            entry |= {"group": subresource.group, "version": subresource.version}
        entries.append({**entry, "kind": subresource.kind, "verbs": list(subresource.verbs)})
    return entries


def _aggregated_resource(kind: Kind) -> Obj:
    resource = kind.resource
    entry: Obj = {
        "resource": resource.plural,
        "responseKind": {"group": "", "version": "", "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(kind.verbs),
        **_names(kind),
    }
    subresources = [
        {
            "subresource": subresource.name,
            "responseKind": {
                "group": subresource.group,
                "version": subresource.version,
                "kind": subresource.kind,
            },
            "verbs": list(subresource.verbs),
        }
        for subresource in kind.subresources()
    ]
    return {**entry, "subresources": subresources} if subresources else entry
