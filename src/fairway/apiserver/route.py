"""From a path and a method to a call: which resource, object, subresource and verb are meant. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from fairway.api.errors import method_not_allowed, path_not_found
from fairway.api.kind import Kind
from fairway.apiserver.call import Call
from fairway.httpserver import Request

OBJECT_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
COLLECTION_VERBS = {
    "GET": "list",
    "HEAD": "list",
    "POST": "create",
    "DELETE": "deletecollection",
}
SUBRESOURCE_VERBS = {**OBJECT_VERBS, "POST": "create"}


class Routes:
    """Finds the kind a path speaks of."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = {
            (kind.resource.group, kind.resource.version, kind.resource.plural): kind for kind in kinds
        }

    def call(self, request: Request) -> Call:
        """The call that a request below /api or /apis makes; raises 404 or 405."""
        parts = request.path.strip("/").split("/")
        if parts[0] == "api":
            group, version, parts = "", parts[1], parts[2:]
        else:
            group, version, parts = parts[1], parts[2], parts[3:]
        legacy_watch = parts[:1] == ["watch"]
        if legacy_watch:
            parts = parts[1:]
        namespace = ""
        # `/namespaces/x` is the object itself and `/namespaces/x/status` its subresource,
        # anything else below is a resource inside it.
        if len(parts) >= 3 and parts[0] == "namespaces" and parts[2] not in ("status", "finalize"):
            namespace, parts = parts[1], parts[2:]
        if not parts or not parts[0]:
            raise path_not_found()
        kind = self._kinds.get((group, version, parts[0]))
        if kind is None or bool(namespace) > kind.resource.namespaced:
            raise path_not_found()
        name = parts[1] if len(parts) > 1 else ""
        subresource = parts[2] if len(parts) > 2 else ""
        call = Call(request, kind, "", namespace, name, subresource, params=request.query())
        if subresource == "proxy":
            call.rest = request.raw_path.partition("/proxy")[2]
        elif len(parts) > 3:
            raise path_not_found()
        call.verb = "watch" if legacy_watch and request.method == "GET" else verb_of(call)
        return call


def verb_of(call: Call) -> str:
    method = call.request.method
    if call.subresource == "proxy":
        return SUBRESOURCE_VERBS.get(method, "get")
    if call.subresource:
        verbs = SUBRESOURCE_VERBS
    elif call.name:
        if call.kind.resource.namespaced and not call.namespace:
            raise path_not_found()
        verbs = OBJECT_VERBS
    else:
        verbs = COLLECTION_VERBS
    verb = verbs.get(method)
    if verb is None:
        raise method_not_allowed()
    if verb == "create" and call.kind.resource.namespaced and not call.namespace:
        raise method_not_allowed()
    if verb in ("get", "list") and not call.subresource and call.flag("watch"):
        return "watch"
    return verb
