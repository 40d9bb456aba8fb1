"""The HTTP operations of resources as OpenAPI lists them: paths, parameters, bodies and answers.

Which operations there are follows from each resource's verbs; how they are written down differs between
OpenAPI 2 and 3 in the place of bodies and answers only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairway.api.resources import Resource
from fairway.api.schema.definitions import PATCH, Dialect, full_name
from fairway.api.schema.shape import UnknownKind, served_kinds, shape_of

Operation = dict[str, Any]

ANSWERS: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
PATCHES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)


@dataclass(frozen=True, slots=True)
class Served:
    """A resource, or one of its subresources, and what may be done with it. `kind` where the subresource
    takes or gives another kind than the resource: `("autoscaling/v1", "Scale")`."""

    resource: Resource
    verbs: tuple[str, ...]
    subresource: str = ""
    kind: tuple[str, str] | None = None

    @property
    def api_version(self) -> str:
        return self.kind[0] if self.kind else self.resource.api_version

    @property
    def kind_name(self) -> str:
        return self.kind[1] if self.kind else self.resource.kind

    @property
    def has_shape(self) -> bool:
        """Whether there is a schema to show: streams such as exec have none."""
        return f"{self.api_version}/{self.kind_name}" in served_kinds()

    @property
    def group_version_kind(self) -> dict[str, str]:
        group, _, version = self.api_version.rpartition("/")
        return {"group": group, "kind": self.kind_name, "version": version}

    @property
    def collection(self) -> str:
        """The path under which objects are created."""
        scope = "/namespaces/{namespace}" if self.resource.namespaced else ""
        return f"{self.resource.root}{scope}/{self.resource.plural}"

    @property
    def item(self) -> str:
        return f"{self.collection}/{{name}}" + (f"/{self.subresource}" if self.subresource else "")


# verb → (HTTP method, x-kubernetes-action, the operation's first word)
_ITEM_VERBS: Final[Mapping[str, tuple[str, str, str]]] = {
    "get": ("get", "get", "read"),
    "update": ("put", "put", "replace"),
    "patch": ("patch", "patch", "patch"),
    "delete": ("delete", "delete", "delete"),
}
_COLLECTION_VERBS: Final[Mapping[str, tuple[str, str, str]]] = {
    "list": ("get", "list", "list"),
    "create": ("post", "post", "create"),
    "deletecollection": ("delete", "deletecollection", "delete"),
}
_LIST_QUERY: Final = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "fieldSelector": "string",
    "labelSelector": "string",
    "limit": "integer",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_WRITE_QUERY: Final = {"dryRun": "string", "fieldManager": "string", "fieldValidation": "string"}
_DELETE_QUERY: Final = {
    "dryRun": "string",
    "gracePeriodSeconds": "integer",
    "orphanDependents": "boolean",
    "propagationPolicy": "string",
}
_QUERIES: Final[Mapping[str, Mapping[str, str]]] = {
    "list": _LIST_QUERY,
    "create": _WRITE_QUERY,
    "update": _WRITE_QUERY,
    "patch": _WRITE_QUERY | {"force": "boolean"},
    "delete": _DELETE_QUERY,
    "deletecollection": _DELETE_QUERY | _LIST_QUERY,
}


class Paths:
    """Collects the paths of resources in one dialect."""

    def __init__(self, dialect: Dialect, version: int) -> None:
        self.dialect = dialect
        self.version = version
        self.found: dict[str, dict[str, Any]] = {}

    def add(self, served: Served) -> None:
        if served.subresource:
            # A subresource that is created (binding, eviction, token) stands where the item does.
            verbs = {**_ITEM_VERBS, "create": _COLLECTION_VERBS["create"]}
            self._add(served, served.item, verbs)
            return
        self._add(served, served.item, _ITEM_VERBS)
        self._add(served, served.collection, _COLLECTION_VERBS)
        if served.resource.namespaced and "list" in served.verbs:
            everywhere = f"{served.resource.root}/{served.resource.plural}"
            operation = self._operation(served, everywhere, "list", _COLLECTION_VERBS["list"])
            self.found.setdefault(everywhere, {})["get"] = operation

    def _add(self, served: Served, path: str, verbs: Mapping[str, tuple[str, str, str]]) -> None:
        for verb, means in verbs.items():
            if verb in served.verbs:
                item = self.found.setdefault(path, {"parameters": self._path_parameters(path)})
                item[means[0]] = self._operation(served, path, verb, means)

    def _operation(self, served: Served, path: str, verb: str, means: tuple[str, str, str]) -> Operation:
        _method, action, word = means
        operation: Operation = {
            "description": f"{word} {served.resource.plural}",
            "operationId": _identifier(served, path, verb, word),
            "tags": [_tag(served.resource)],
            "parameters": [self._query(name, kind) for name, kind in _QUERIES.get(verb, {}).items()],
            "responses": {"200": self._answer(served, verb)},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": served.group_version_kind,
        }
        body = self._body_name(served, verb)
        if self.version == 2:
            operation["consumes"] = list(PATCHES) if verb == "patch" else ["*/*"]
            operation["produces"] = list(ANSWERS)
            if body:
                schema = self.dialect.reference(body)
                required = not verb.startswith("delete")
                operation["parameters"].append(
                    {"name": "body", "in": "body", "required": required, "schema": schema}
                )
        elif body:
            media = PATCHES if verb == "patch" else ("*/*",)
            operation["requestBody"] = {"content": self._content(body, media)}
        return operation

    def _body_name(self, served: Served, verb: str) -> str:
        if verb in ("create", "update"):
            return _definition(served.api_version, served.kind_name)
        if verb == "patch":
            return PATCH[0]
        return _definition("v1", "DeleteOptions") if verb.startswith("delete") else ""

    def _answer(self, served: Served, verb: str) -> dict[str, Any]:
        kind = f"{served.kind_name}List" if verb == "list" else served.kind_name
        name = (
            _definition("v1", "Status")
            if verb.startswith("delete")
            else _definition(served.api_version, kind)
        )
        if self.version == 2:
            return {"description": "OK", "schema": self.dialect.reference(name)}
        return {"description": "OK", "content": self._content(name, ANSWERS)}

    def _content(self, name: str, media: Iterable[str]) -> dict[str, Any]:
        return {kind: {"schema": self.dialect.reference(name)} for kind in media}

    def _query(self, name: str, kind: str) -> dict[str, Any]:
        return self._parameter(name, "query", kind) | ({"uniqueItems": True} if self.version == 2 else {})

    def _path_parameters(self, path: str) -> list[dict[str, Any]]:
        names = [name for name in ("namespace", "name") if f"{{{name}}}" in path]
        return [self._parameter(name, "path", "string") | {"required": True} for name in names]

    def _parameter(self, name: str, place: str, kind: str) -> dict[str, Any]:
        typed = {"type": kind} if self.version == 2 else {"schema": {"type": kind, "uniqueItems": True}}
        return {"name": name, "in": place, **typed}


def shapes_of(served: Iterable[Served]) -> list[str]:
    """The shapes that operations on these refer to."""
    found = {shape_of("v1", "Status").name, shape_of("v1", "DeleteOptions").name}
    for entry in served:
        for kind in (entry.kind_name, f"{entry.kind_name}List"):
            try:
                found.add(shape_of(entry.api_version, kind).name)
            except UnknownKind:
                continue  # not every kind has a list
    return sorted(found)


def _definition(api_version: str, kind: str) -> str:
    return full_name(shape_of(api_version, kind).name)


def _tag(resource: Resource) -> str:
    return f"{resource.group.partition('.')[0] or 'core'}_{resource.version}"


def _identifier(served: Served, path: str, verb: str, word: str) -> str:
    """`patchCoreV1NamespacedService`, `listAppsV1DeploymentForAllNamespaces`: as client generators expect."""
    resource = served.resource
    group = (resource.group.partition(".")[0] or "core").capitalize()
    scope = "Namespaced" if "{namespace}" in path else ""
    collection = "Collection" if verb == "deletecollection" else ""
    everywhere = "ForAllNamespaces" if resource.namespaced and not scope else ""
    tail = served.subresource.title().replace("/", "").replace("-", "")
    return f"{word}{group}{resource.version.capitalize()}{collection}{scope}{resource.kind}{tail}{everywhere}"
