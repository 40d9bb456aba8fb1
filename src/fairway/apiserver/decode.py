"""From request bodies to objects of the kind that the path speaks of, pruned and typed by its shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairway.api.errors import StatusError, bad_request, unsupported_media_type
from fairway.api.kind import Obj
from fairway.api.metadata import without_repeated_owners
from fairway.api.patches.document import cannot_unmarshal, go_text
from fairway.api.resources import Resource
from fairway.api.schema.body import PROTOBUF, YAML, other_kind_fault, read_object
from fairway.api.schema.conform import conform
from fairway.api.schema.json_body import BadJson, decode_json, has_repeated_members
from fairway.api.schema.shape import shape_of
from fairway.api.schema.strict import StrictDecodingError, unknown_fields
from fairway.api.schema.unstructured import conversion_fault
from fairway.api.schema.values import Mismatch, Undecodable
from fairway.api.schema.yaml_body import BadYaml, decode_yaml_strictly
from fairway.api.validation.fields import invalid, invalid_value
from fairway.apiserver.call import Call
from fairway.apiserver.encoding import encode

JSON = "application/json"
ACCEPTED = (JSON, YAML, PROTOBUF)

REPEATED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and"
    " may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)


def media_type(call: Call) -> str:
    return call.request.headers.get("content-type", "").partition(";")[0].strip()


def body_type(call: Call) -> str:
    media = media_type(call) or JSON
    media = JSON if media == "*/*" else media
    if media not in ACCEPTED or _is_garbled(call.request.headers.get("content-type", "")):
        raise unsupported_media_type(ACCEPTED)
    return media


def _is_garbled(content_type: str) -> bool:
    """Whether a parameter after the type is no assignment."""
    return any(part.strip() and "=" not in part for part in content_type.split(";")[1:])


def decode_object(call: Call, resource: Resource | None = None) -> Obj:
    """The body as an object of the call's kind (or of another resource, for subresources), as it is
    stored."""
    expected = resource or call.kind.resource
    value, warnings = read_object(
        call.request.body, body_type(call), expected.api_version, expected.kind, call.field_validation
    )
    call.warnings += warnings
    check_place(call, value.setdefault("metadata", {}), expected)
    face = call.kind.face
    return face.inward(value) if face and resource is None else value


def decode_options(call: Call) -> Obj:
    """DeleteOptions, or nothing."""
    if not call.request.body:
        return {}
    return read_object(call.request.body, body_type(call), "v1", "DeleteOptions", "Ignore")[0]


def decode_configuration(call: Call) -> Obj:
    """What is to be applied: JSON or YAML, its fields not judged yet."""
    document, complaints = _json_or_yaml(call.request.body)
    if document is None:
        document = {}
    if not isinstance(document, dict):
        reason = cannot_unmarshal(document, "value of type map[string]interface {}")
        raise bad_request(f"error decoding patch: error unmarshaling JSON: while decoding JSON: {reason}")
    complaints = [f"error converting YAML to JSON: {complaint}" for complaint in complaints]
    if complaints and call.field_validation == "Strict":
        raise bad_request(f"error strict decoding YAML: {complaints[0]}")
    if call.field_validation == "Warn":
        call.warnings += complaints
    return document


def _json_or_yaml(body: bytes) -> tuple[Any, list[str]]:
    """The document, and what strict reading complains of. JSON is YAML, but read much faster as what it
    is."""
    if body[:1] == b"{":
        try:
            document = decode_json(body)
            if not has_repeated_members(body, document):
                return document, []
        except BadJson:
            pass
    try:
        return decode_yaml_strictly(body)
    except BadYaml as bad:
        raise bad_request(f"error encoding patch: {bad}") from bad


def conform_patched(call: Call, obj: Any, strategic: Any = None, complaints: Sequence[str] = ()) -> Obj:
    """A patched object, held to the shape of its kind like any other that a client sends.

    `strategic` is the patch, if it was a strategic merge patch: Kubernetes then reads the result in another
    way. `complaints` are about the patch itself.
    """
    resource = call.kind.resource
    shape = shape_of(resource.api_version, resource.kind)
    try:
        if not isinstance(obj, dict):
            raise Mismatch(obj, f"v1.{resource.kind}")
        if strategic is None and (fault := other_kind_fault(obj, resource.api_version, resource.kind)):
            raise Undecodable(fault)
        stored, warnings = conform(obj, shape, "Ignore" if call.field_validation == "Ignore" else "Warn")
    except Undecodable as error:
        text = str(error) if strategic is None else conversion_fault(error)
        raise _bad_patch(obj, strategic, text) from error
    if warnings and strategic is not None:
        warnings = unknown_fields(obj, shape)
    if found := [*complaints, *warnings]:
        if call.field_validation == "Strict":
            raise _bad_patch(obj, strategic, str(StrictDecodingError(found)))
        call.warnings += found
    return stored


def _bad_patch(obj: Any, strategic: Any, why: str) -> StatusError:
    shown = encode(obj).decode() if strategic is None else go_text(strategic)
    return invalid("", "", "", [invalid_value("patch", shown, why)])


def conform_applied(call: Call, obj: Obj) -> Obj:
    """What apply made of an object: nulls go, and everything must be of its type at last."""
    resource = call.kind.resource
    try:
        return conform(obj, shape_of(resource.api_version, resource.kind))[0]
    except Undecodable as error:
        raise bad_request(str(error)) from error


def drop_repeated_owners(call: Call, obj: Obj) -> None:
    if repeated := without_repeated_owners(obj["metadata"]):
        call.warnings.append(REPEATED_OWNERS.format(", ".join(repeated)))


def check_place(call: Call, metadata: Obj, resource: Resource) -> None:
    """The body may leave out name and namespace, but not contradict the path."""
    namespace = metadata.get("namespace")
    if call.namespace:
        if namespace and namespace != call.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        metadata["namespace"] = call.namespace
    elif namespace:
        del metadata["namespace"]
    if call.name and call.verb in ("update", "patch"):
        name = metadata.get("name")
        if not name:
            raise bad_request(
                f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
            )
        if name != call.name:
            raise name_mismatch(name, call.name)


def name_mismatch(name: str, expected: str) -> StatusError:
    return bad_request(f"the name of the object ({name}) does not match the name on the URL ({expected})")
