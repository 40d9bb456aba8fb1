"""From a path and a method to a call: which resource, object, subresource and verb are meant. Pure.

A path that no resource has is 404; a method that a path has not, 405.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairway.api.errors import method_not_allowed, path_not_found
from fairway.api.kind import Kind
from fairway.apiserver.call import Call
from fairway.httpserver import Request

OBJECT_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
SUBRESOURCE_VERBS = {**OBJECT_VERBS, "POST": "create"}
PROXY_VERBS = {**SUBRESOURCE_VERBS, "HEAD": "get", "OPTIONS": "get"}


class Routes:
    """Finds the kind a path speaks of."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        self._groups: set[str] = set()
        self._subresources: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
        for kind in kinds:
            resource = kind.resource
            self._kinds[resource.group, resource.version, resource.plural] = kind
            self._groups.add(resource.group)
            self._subresources[resource.group, resource.plural] = {
                subresource.name: subresource.verbs for subresource in kind.subresources()
            }

    def knows_group(self, path: str) -> bool:
        """Whether a path below /apis is in a group that there is; others are not ours at all."""
        if not path.startswith("/apis/") or path == "/apis/":
            return True
        return path.split("/", 3)[2] in self._groups

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
        kind = self._kinds.get((group, version, parts[0] if parts else ""))
        if kind is None or bool(namespace) > kind.resource.namespaced:
            raise path_not_found()
        name = parts[1] if len(parts) > 1 else ""
        subresource = parts[2] if len(parts) > 2 else ""
        call = Call(request, kind, "", namespace, name, subresource, params=request.query())
        if subresource == "proxy":
            call.rest = request.raw_path.partition("/proxy")[2]
        elif len(parts) > 3:
            raise path_not_found()
        call.verb = self._watch_verb(call) if legacy_watch else self._verb(call)
        return call

    def _verb(self, call: Call) -> str:
        kind = call.kind
        somewhere = bool(call.namespace) or not kind.resource.namespaced
        if call.name and not somewhere:
            raise path_not_found()
        if call.subresource:
            return self._subresource_verb(call)
        verbs = OBJECT_VERBS if call.name else COLLECTION_VERBS
        if call.name and not any(verb in kind.verbs for verb in verbs.values()):
            raise path_not_found()
        verb = verbs.get(call.request.method)
        if verb is None or verb not in kind.verbs or (verb != "list" and not somewhere):
            raise method_not_allowed()
        return "watch" if verb == "list" and call.flag("watch") else verb

    def _subresource_verb(self, call: Call) -> str:
        resource = call.kind.resource
        allowed = self._subresources[resource.group, resource.plural].get(call.subresource)
        if allowed is None:
            raise path_not_found()
        verbs = PROXY_VERBS if call.subresource == "proxy" else SUBRESOURCE_VERBS
        verb = verbs.get(call.request.method)
        if verb is None or verb not in allowed:
            raise method_not_allowed()
        return verb

    def _watch_verb(self, call: Call) -> str:
        """The deprecated paths below /watch/: of a collection or of one object."""
        if call.subresource or "watch" not in call.kind.verbs:
            raise path_not_found()
        if call.name and call.kind.resource.namespaced and not call.namespace:
            raise path_not_found()
        if call.request.method != "GET":
            raise method_not_allowed()
        return "watch"
