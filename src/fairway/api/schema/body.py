"""Request bodies: from bytes in any accepted format to the object to be stored, or Kubernetes' 400.

The order of checks is kube-apiserver's: syntax, then apiVersion and kind, then types, then
(fieldValidation) unknown and repeated fields, then whether it is the kind this path takes.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import msgspec

from fairway.api.errors import StatusError, bad_request
from fairway.api.schema import protobuf
from fairway.api.schema.conform import conform
from fairway.api.schema.json_body import (
    BadJson,
    decode_json,
    decode_literally,
    decode_members,
    has_repeated_members,
)
from fairway.api.schema.shape import Shape, UnknownKind, shape_of
from fairway.api.schema.strict import StrictDecodingError, strict_errors
from fairway.api.schema.values import Mismatch, Undecodable
from fairway.api.schema.yaml_body import BadYaml, decode_yaml_strictly

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

_SCHEME: Final = "pkg/api/legacyscheme/scheme.go:30"
_KIND_STRUCT: Final = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)
_INTERNAL: Final = {"": "core", "events.k8s.io": "core"}
"""Packages of the internal types, where they aren't called as the group's first word is."""

RETIRED: Final = frozenset(
    (version, kind)
    for version, kinds in (
        ("extensions/v1beta1", "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet Scale"),
        ("apps/v1beta1", "ControllerRevision Deployment Scale StatefulSet"),
        ("apps/v1beta2", "ControllerRevision DaemonSet Deployment ReplicaSet Scale StatefulSet"),
        ("networking.k8s.io/v1beta1", "IPAddress Ingress IngressClass ServiceCIDR"),
        ("discovery.k8s.io/v1beta1", "EndpointSlice"),
        ("events.k8s.io/v1beta1", "Event"),
        ("coordination.k8s.io/v1beta1", "Lease"),
        ("policy/v1beta1", "Eviction PodDisruptionBudget"),
        ("rbac.authorization.k8s.io/v1beta1", "ClusterRole ClusterRoleBinding Role RoleBinding"),
        ("rbac.authorization.k8s.io/v1alpha1", "ClusterRole ClusterRoleBinding Role RoleBinding"),
        ("authentication.k8s.io/v1beta1", "SelfSubjectReview TokenReview"),
        (
            "authorization.k8s.io/v1beta1",
            "LocalSubjectAccessReview SelfSubjectAccessReview SubjectAccessReview",
        ),
    )
    for kind in kinds.split()
)
"""Versions that Kubernetes still reads, and then refuses as not the one that the path is about."""

_encode = msgspec.json.Encoder().encode


def read_object(
    body: bytes, media_type: str, api_version: str, kind: str, field_validation: str = "Warn"
) -> tuple[dict[str, Any], list[str]]:
    """The object in a request to a path that takes `kind`, and warnings. Raises StatusError (400)."""
    document, complaints = _document(body, media_type, api_version, kind)
    version, actual = _version_and_kind(document, api_version, kind, body)
    try:
        shape = shape_of(version, actual)
        stored, warnings = _stored(document, shape, body, media_type, field_validation, complaints)
    except UnknownKind:
        _check_version(version, actual, api_version, kind)
        unknown = f'no kind "{actual}" is registered for version "{version}" in scheme "{_SCHEME}"'
        _refuse(version, actual, kind, unknown)
    except (Undecodable, StrictDecodingError) as wrong:
        _refuse(version, actual, kind, str(wrong))
    if shape is not shape_of(api_version, kind):
        _check_version(version, actual, api_version, kind)
        found = f"converting (v1.{actual}) to ({internal_package(api_version)}.{kind}): unknown conversion"
        _refuse(version, actual, kind, found)
    stored["apiVersion"], stored["kind"] = api_version, kind
    return stored, warnings


def _check_version(version: str, actual: str, api_version: str, kind: str) -> None:
    """A kind in another of its versions has a refusal of its own; Events are served in two."""
    if (version, actual) in RETIRED or (actual == kind == "Event" and version != api_version):
        message = (
            f"the API version in the data ({version}) does not match the expected API version ({api_version})"
        )
        raise bad_request(message) from None


def other_kind_fault(obj: dict[str, Any], api_version: str, kind: str) -> str:
    """Why an object that should be of a kind, but says it is another, can't be taken; nothing if it is right.

    Raises Undecodable where it isn't even sound as what it says.
    """
    version, actual = obj.get("apiVersion"), obj.get("kind")
    if (version, actual) == (api_version, kind):
        return ""
    for name, value in (("Kind", actual), ("apiVersion", version)):
        if not isinstance(value, str) or not value:
            return f"Object '{name}' is missing in '{_encode(obj).decode()}'"
    try:
        conform(obj, shape_of(str(version), str(actual)))
    except UnknownKind:
        return f'no kind "{actual}" is registered for version "{version}" in scheme "{_SCHEME}"'
    group, _, short = str(version).rpartition("/")
    return f"unable to decode {group}/{short}, Kind={actual} into *{internal_package(api_version)}.{kind}"


def _document(body: bytes, media_type: str, api_version: str, kind: str) -> tuple[dict[str, Any], list[str]]:
    """The parsed body, an object; and what strict reading of YAML complains of."""
    complaints: list[str] = []
    try:
        if media_type == PROTOBUF:
            return protobuf.decode(body, api_version, kind), complaints
        if media_type == YAML:
            document, complaints = decode_yaml_strictly(body)
        else:
            document = decode_json(body)
    except (BadYaml, protobuf.BadProtobuf) as bad:
        raise _unrecognized(kind, str(bad), body) from None
    except BadJson as bad:
        raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {bad}", body) from None
    if document is None:
        document = {}
    if type(document) is not dict:
        raise _unrecognized(
            kind, f"couldn't get version/kind; json parse error: {Mismatch(document, _KIND_STRUCT)}", body
        )
    return document, complaints


def _version_and_kind(document: dict[str, Any], api_version: str, kind: str, body: bytes) -> tuple[str, str]:
    """What the object says it is; what it doesn't say is taken from the path."""
    version, actual = document.get("apiVersion"), document.get("kind")
    for name, value in (("apiVersion", version), ("kind", actual)):
        if value is not None and type(value) is not str:
            wrong = Mismatch(value, "string")
            wrong.within("", name)
            raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {wrong}", body)
    if version and version.count("/") > 1:
        raise _unrecognized(kind, f"unexpected GroupVersion string: {version}", body)
    return version or api_version, actual or kind


def _stored(
    document: dict[str, Any],
    shape: Shape,
    body: bytes,
    media_type: str,
    field_validation: str,
    complaints: list[str],
) -> tuple[dict[str, Any], list[str]]:
    is_json = media_type not in (YAML, PROTOBUF)
    try:
        if field_validation != "Ignore" and (
            complaints or (is_json and has_repeated_members(body, document))
        ):
            return _stored_with_complaints(document, shape, body, is_json, field_validation, complaints)
        return conform(document, shape, field_validation)
    except Mismatch as wrong:
        if is_json and wrong.is_float:
            # Meets the same fault again, and words it with the number as it was written.
            conform(decode_literally(body), shape)
        raise


def _stored_with_complaints(
    document: dict[str, Any],
    shape: Shape,
    body: bytes,
    is_json: bool,
    field_validation: str,
    complaints: list[str],
) -> tuple[dict[str, Any], list[str]]:
    """The rare path: something is given twice, and must be reported where it stands."""
    written = decode_members(body) if is_json else document
    stored, _ = conform(_plain(written), shape)
    errors = complaints + strict_errors(written, shape)
    if errors and field_validation == "Strict":
        raise StrictDecodingError(errors)
    return stored, errors


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def internal_package(api_version: str) -> str:
    """Where Go keeps the internal types of a group; some messages name it."""
    group = api_version.rpartition("/")[0]
    return _INTERNAL.get(group) or group.partition(".")[0]


def _refuse(version: str, actual: str, expected: str, why: str) -> NoReturn:
    short = version.rpartition("/")[2]
    raise bad_request(f'{actual} in version "{short}" cannot be handled as a {expected}: {why}') from None


def _unrecognized(expected: str, why: str, body: bytes) -> StatusError:
    return bad_request(
        f"the object provided is unrecognized (must be of type {expected}): {why} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    """The beginning of the body: as text if it looks like JSON, else in hexadecimal."""
    if not body:
        return "<empty>"
    start = body[:30]
    text = start.decode("utf-8", "replace") if body.startswith(b"{") else start.hex()
    return f"{text} ..." if len(body) > 30 else text
