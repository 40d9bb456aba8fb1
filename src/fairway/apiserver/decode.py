"""From request bodies to objects of the kind that the path speaks of, pruned and typed by its shape."""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.api.errors import StatusError, bad_request, unsupported_media_type
from fairway.api.kind import Obj
from fairway.api.resources import Resource
from fairway.api.schema.body import PROTOBUF, YAML, read_object
from fairway.api.schema.conform import conform
from fairway.api.schema.shape import shape_of
from fairway.api.schema.strict import StrictDecodingError
from fairway.api.schema.values import Undecodable
from fairway.apiserver.call import Call

JSON = "application/json"
ACCEPTED = (JSON, YAML, PROTOBUF)

_decode = msgspec.json.Decoder(Any).decode


def media_type(call: Call) -> str:
    return call.request.headers.get("content-type", "").partition(";")[0].strip()


def field_validation(call: Call) -> str:
    """How strictly unknown fields are taken; a warning for each unless the client says otherwise."""
    return call.params.get("fieldValidation") or "Warn"


def decode_object(call: Call, resource: Resource | None = None) -> Obj:
    """The body as an object of the call's kind (or of another resource, for subresources)."""
    expected = resource or call.kind.resource
    media = media_type(call) or JSON
    if media == "*/*":
        media = JSON
    if media not in ACCEPTED:
        raise unsupported_media_type(ACCEPTED)
    value, warnings = read_object(
        call.request.body, media, expected.api_version, expected.kind, field_validation(call)
    )
    call.warnings += warnings
    metadata = value.setdefault("metadata", {})
    check_place(call, metadata, expected)
    return value


def decode_options(call: Call) -> Obj:
    """DeleteOptions, or nothing."""
    if not call.request.body:
        return {}
    media = media_type(call) or JSON
    if media not in ACCEPTED:
        raise unsupported_media_type(ACCEPTED)
    return read_object(call.request.body, media, "v1", "DeleteOptions", "Ignore")[0]


def conform_patched(call: Call, obj: Obj) -> Obj:
    """A patched object, held to the shape of its kind like any other that a client sends."""
    resource = call.kind.resource
    try:
        stored, warnings = conform(obj, shape_of(resource.api_version, resource.kind), field_validation(call))
    except StrictDecodingError as error:
        raise bad_request(str(error)) from error
    except Undecodable as error:
        raise bad_request(str(error)) from error
    call.warnings += warnings
    return stored


def check_place(call: Call, metadata: Obj, resource: Resource) -> None:
    """The body may leave out name and namespace, but not contradict the path."""
    namespace = metadata.get("namespace")
    if call.namespace and namespace and namespace != call.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if call.namespace and resource.namespaced:
        metadata["namespace"] = call.namespace
    if call.name and not call.subresource and call.verb == "update":
        if not metadata.get("name"):
            raise bad_request("name must be provided")
        if metadata["name"] != call.name:
            raise StatusError(
                400,
                "BadRequest",
                f"the name of the object ({metadata['name']}) does not match the name on the URL"
                f" ({call.name})",
            )
