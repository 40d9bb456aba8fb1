"""From objects to answers: as they are, as Tables, or as metadata only; in JSON or YAML; with warnings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from fairway.api.errors import StatusError, bad_request, not_acceptable
from fairway.api.kind import Kind, Obj
from fairway.api.resources import Resource
from fairway.api.schema.body import internal_package
from fairway.api.tables import IncludeObject, partial_object_metadata, table
from fairway.apiserver.call import Call
from fairway.apiserver.encoding import encode, list_text, object_prefix
from fairway.apiserver.entry import Entry
from fairway.apiserver.negotiate import PLAIN, YAML, Form, described_form, wanted_form
from fairway.apiserver.yaml_text import yaml_text
from fairway.httpserver import Request, Response
from fairway.httpserver.messages import Headers

# Programs that people look at the answers of.
_READERS = ("curl", "Wget", "Mozilla/5.0")
WARNINGS_LIMIT, WARNING_LIMIT = 4096, 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_TRUE = ("1", "t", "T", "TRUE", "true", "True")


def form_of(call: Call) -> Form:
    return requested_form(call.request)


def requested_form(request: Request) -> Form:
    form = wanted_form(request.headers.get("accept", ""))
    return replace(form, pretty=True) if wants_pretty(request) else form


def wants_pretty(request: Request) -> bool:
    if "pretty" in request.target and (wanted := request.query().get("pretty")):
        return wanted in _TRUE
    return request.headers.get("user-agent", "").startswith(_READERS)


def warning_headers(warnings: Iterable[str]) -> Headers:
    """Texts of several lines are left out: a header can't hold them."""
    told = list(dict.fromkeys(text for text in warnings if not _CONTROL.search(text)))
    if sum(map(len, told)) > WARNINGS_LIMIT:
        told = _shortened(told)
    return tuple(("Warning", f"299 - {_quoted(text)}") for text in told)


def _shortened(warnings: Iterable[str]) -> list[str]:
    """Clients limit the headers they read: each text is cut, and what still doesn't fit is left out."""
    told: list[str] = []
    written = 0
    for text in warnings:
        if written >= WARNINGS_LIMIT:
            break
        told.append(text[:WARNING_LIMIT])
        written += len(told[-1])
    return told


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# -- objects ---------------------------------------------------------------------------------------------


def served(kind: Kind, entry: Entry) -> Obj:
    """A stored object in the form in which this kind shows it."""
    obj = entry.obj()
    return kind.face.outward(obj) if kind.face else obj


def served_text(kind: Kind, entry: Entry) -> bytes:
    """The same as bytes, without the opening brace, kind and version."""
    return encode(served(kind, entry))[1:] if kind.face else entry.body


def entry_answer(call: Call, entry: Entry, status: int = 200) -> Response:
    """One stored object."""
    form = form_of(call)
    kind = call.kind
    if form.shape:
        return _answer(call, form, _shaped(call, form, served(kind, entry)), status)
    body = object_prefix(kind.resource) + served_text(kind, entry)
    return bytes_answer(form, body, status, call.warnings)


def object_answer(call: Call, obj: Obj, status: int = 200, resource: Resource | None = None) -> Response:
    """One object that is not (or no longer) in the store, or of another kind than the path's."""
    form = form_of(call)
    if form.table and not _has_rows(call):
        form = described_form(call.request.headers.get("accept", ""))
    if resource is None and call.kind.face:
        obj = call.kind.face.outward(obj)
    kind = resource or call.kind.resource
    if form.shape:
        return _answer(call, form, _shaped(call, form, obj, kind), status)
    rest = {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}
    return _answer(call, form, {"kind": kind.kind, "apiVersion": kind.api_version, **rest}, status)


def _has_rows(call: Call) -> bool:
    """What is never listed has no Table either: reviews and tokens."""
    return "list" in call.kind.verbs and call.subresource != "token"


def document_answer(call: Call, document: Obj, status: int = 200) -> Response:
    """Something that is no object of a resource: a Status, for one."""
    return _answer(call, form_of(call), document, status)


def list_answer(call: Call, entries: list[Entry], metadata: Obj) -> Response:
    form = form_of(call)
    kind = call.kind
    if form.table:
        rows = [served(kind, entry) for entry in entries]
        return _answer(call, form, table_of(call, form, rows, metadata), 200)
    if form.partial:
        return _answer(call, form, _partial_list(call, form, entries, metadata), 200)
    bodies = (
        [served_text(kind, entry) for entry in entries] if kind.face else [entry.body for entry in entries]
    )
    return bytes_answer(form, list_text(kind.resource, metadata, bodies), 200, call.warnings)


def _partial_list(call: Call, form: Form, entries: list[Entry], metadata: Obj) -> Obj:
    resource = call.kind.resource
    if form.shape != "PartialObjectMetadataList":
        raise not_acceptable(
            f"you requested {form.shape}, but the requested object is a list ({go_name(resource)}List)"
        )
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{form.version}",
        "metadata": metadata,
        "items": [partial_object_metadata(resource, entry.obj(), form.version) for entry in entries],
    }


def _shaped(call: Call, form: Form, obj: Obj, resource: Resource | None = None) -> Obj:
    resource = resource or call.kind.resource
    if form.table:
        version = obj["metadata"].get("resourceVersion", "")
        return table_of(call, form, [obj], {"resourceVersion": version}, resource)
    if form.shape == "PartialObjectMetadataList":
        raise not_acceptable(
            f"you requested {form.shape}, but the requested object is not a list ({go_name(resource)})"
        )
    return partial_object_metadata(resource, obj, form.version)


def go_name(resource: Resource) -> str:
    return f"*{internal_package(resource.api_version)}.{resource.kind}"


def include_object(call: Call) -> IncludeObject:
    wanted = call.params.get("includeObject", "")
    if wanted in ("", "Metadata"):
        return "Metadata"
    if wanted == "Object":
        return "Object"
    if wanted == "None":
        return "None"
    fault = f"includeObject: Invalid value: \"{wanted}\": must be 'Metadata', 'Object', 'None', or empty"
    raise bad_request(f"Unable to convert to Table as requested: {fault}")


def table_of(call: Call, form: Form, objs: list[Obj], metadata: Obj, resource: Resource | None = None) -> Obj:
    return table(
        resource or call.kind.resource,
        objs,
        datetime.now(UTC),
        resource_version=metadata.get("resourceVersion", ""),
        continue_token=metadata.get("continue"),
        remaining=metadata.get("remainingItemCount"),
        include_object=include_object(call),
        version=form.version,
    )


# -- errors ----------------------------------------------------------------------------------------------


def status_answer(
    error: StatusError, request: Request | None = None, warnings: Iterable[str] = ()
) -> Response:
    """A refusal; in the form asked for, if there was one that we have."""
    form = PLAIN
    if request is not None:
        try:
            form = replace(requested_form(request), shape="")
        except StatusError:
            form = PLAIN
    answer = bytes_answer(form, encode(error.body()), error.code, warnings)
    if seconds := error.retry_after:
        answer.headers = (("Retry-After", str(seconds)), *answer.headers)
    return answer


# -- bytes -----------------------------------------------------------------------------------------------


def _answer(call: Call, form: Form, value: Any, status: int) -> Response:
    return bytes_answer(form, encode(value), status, call.warnings)


def bytes_answer(form: Form, body: bytes, status: int, warnings: Iterable[str]) -> Response:
    headers = warning_headers(warnings) if warnings else ()
    if form.yaml:
        return Response(status, yaml_text(msgspec.json.decode(body)), YAML, headers)
    if form.pretty:
        body = msgspec.json.format(body, indent=2)
    return Response(status, body, headers=headers)
