"""/openapi/v2 and /openapi/v3: which document a path and an Accept header ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairway.api.kind import Kind
from fairway.api.schema.openapi import V2_PROTOBUF, OpenApi
from fairway.api.schema.operations import Served
from fairway.httpserver import Request, Response

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def served(kinds: Iterable[Kind]) -> Iterator[Served]:
    for kind in kinds:
        yield Served(kind.resource, kind.verbs)
        for subresource in kind.subresources():
            other = (f"{subresource.group}/{subresource.version}", subresource.kind)
            yield Served(
                kind.resource, subresource.verbs, subresource.name, other if subresource.group else None
            )


def openapi_answer(documents: OpenApi, request: Request) -> Response | None:
    path = request.path.strip("/")
    if path == "openapi/v2":
        if PROTOBUF in request.headers.get("accept", ""):
            return Response(200, documents.v2_protobuf, V2_PROTOBUF)
        return Response(200, documents.v2)
    if path == "openapi/v3":
        return Response(200, documents.v3)
    if path.startswith("openapi/v3/"):
        body = documents.v3_group(path.removeprefix("openapi/v3/"))
        return Response(200, body) if body else None
    return None
