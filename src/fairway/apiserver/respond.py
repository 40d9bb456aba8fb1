"""From objects to answers: as they are, as Tables, or as metadata only; with warnings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from fairway.api.errors import StatusError
from fairway.api.kind import Obj
from fairway.api.tables import IncludeObject, partial_object_metadata, table
from fairway.apiserver.call import Call
from fairway.apiserver.encoding import encode, list_text, object_prefix
from fairway.apiserver.entry import Entry
from fairway.apiserver.negotiate import Form, wanted_form
from fairway.httpserver import Response
from fairway.httpserver.messages import Headers


def form_of(call: Call) -> Form:
    return wanted_form(call.request.headers.get("accept", ""))


def warning_headers(warnings: Iterable[str]) -> Headers:
    return tuple(("Warning", f"299 - {_quoted(text)}") for text in dict.fromkeys(warnings))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def entry_answer(call: Call, entry: Entry, status: int = 200) -> Response:
    """One stored object."""
    form = form_of(call)
    resource = call.kind.resource
    if form.shape:
        return _answer(call, _shaped(call, form, entry.obj()), status)
    body = object_prefix(resource) + entry.body
    return Response(status, body, headers=warning_headers(call.warnings))


def object_answer(call: Call, obj: Obj, status: int = 200) -> Response:
    """One object that is not (or no longer) in the store."""
    form = form_of(call)
    if form.shape and "spec" in obj:
        return _answer(call, _shaped(call, form, obj), status)
    resource = call.kind.resource
    rest = {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}
    whole = {
        "kind": obj.get("kind", resource.kind),
        "apiVersion": obj.get("apiVersion", resource.api_version),
        **rest,
    }
    return _answer(call, whole, status)


def list_answer(call: Call, entries: list[Entry], metadata: Obj) -> Response:
    form = form_of(call)
    resource = call.kind.resource
    if form.table:
        return _answer(call, table_of(call, [entry.obj() for entry in entries], metadata), 200)
    if form.partial:
        items = [partial_object_metadata(resource, entry.obj()) for entry in entries]
        body = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "items": items,
        }
        return _answer(call, body, 200)
    return Response(
        200,
        list_text(resource, metadata, [entry.body for entry in entries]),
        headers=warning_headers(call.warnings),
    )


def status_answer(error: StatusError, warnings: Iterable[str] = ()) -> Response:
    headers: Headers = (("Retry-After", "1"),) if error.code in (429, 503) else ()
    return Response(error.code, encode(error.body()), headers=(*headers, *warning_headers(warnings)))


def include_object(call: Call) -> IncludeObject:
    wanted = call.params.get("includeObject", "Metadata")
    if wanted == "Object":
        return "Object"
    return "None" if wanted == "None" else "Metadata"


def table_of(call: Call, objs: list[Obj], metadata: Obj) -> Obj:
    return table(
        call.kind.resource,
        objs,
        datetime.now(UTC),
        resource_version=metadata.get("resourceVersion", ""),
        continue_token=metadata.get("continue"),
        remaining=metadata.get("remainingItemCount"),
        include_object=include_object(call),
    )


def _shaped(call: Call, form: Form, obj: Obj) -> Obj:
    if form.table:
        version = obj["metadata"].get("resourceVersion", "")
        return table_of(call, [obj], {"resourceVersion": version})
    return partial_object_metadata(call.kind.resource, obj)


def _answer(call: Call, value: Any, status: int) -> Response:
    return Response(status, encode(value), headers=warning_headers(call.warnings))
