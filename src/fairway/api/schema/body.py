"""Request bodies: from bytes in any accepted format to the object to be stored, or Kubernetes' 400.

The order of checks is kube-apiserver's: syntax, then apiVersion and kind, then types, then
(fieldValidation) unknown and repeated fields, then whether it is the kind this path takes.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

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

_APPS: Final = ("apps/v1beta1", "apps/v1beta2")
_EXTENSIONS: Final = "extensions/v1beta1"
_RBAC: Final = ("rbac.authorization.k8s.io/v1alpha1", "rbac.authorization.k8s.io/v1beta1")
_OTHER_VERSIONS: Final = {
    "ClusterRole": _RBAC,
    "ClusterRoleBinding": _RBAC,
    "ControllerRevision": _APPS,
    "DaemonSet": (_APPS[1], _EXTENSIONS),
    "Deployment": (*_APPS, _EXTENSIONS),
    "EndpointSlice": ("discovery.k8s.io/v1beta1",),
    "Event": ("v1", "events.k8s.io/v1", "events.k8s.io/v1beta1"),
    "IPAddress": ("networking.k8s.io/v1beta1",),
    "Ingress": ("networking.k8s.io/v1beta1", _EXTENSIONS),
    "IngressClass": ("networking.k8s.io/v1beta1",),
    "Lease": ("coordination.k8s.io/v1beta1",),
    "NetworkPolicy": (_EXTENSIONS,),
    "PodDisruptionBudget": ("policy/v1beta1",),
    "ReplicaSet": (_APPS[1], _EXTENSIONS),
    "Role": _RBAC,
    "RoleBinding": _RBAC,
    "ServiceCIDR": ("networking.k8s.io/v1beta1",),
    "StatefulSet": _APPS,
}
"""Versions that Kubernetes knows a kind in, besides the one we serve."""


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
        found = f"converting (v1.{actual}) to ({_internal(api_version)}.{kind}): unknown conversion"
        _refuse(version, actual, kind, found)
    stored["apiVersion"], stored["kind"] = api_version, kind
    return stored, warnings


def _check_version(version: str, actual: str, api_version: str, kind: str) -> None:
    """The right kind in another of its versions has a refusal of its own."""
    if actual == kind and version in _OTHER_VERSIONS.get(kind, ""):
        message = (
            f"the API version in the data ({version}) does not match the expected API version ({api_version})"
        )
        raise bad_request(message) from None


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


def _internal(api_version: str) -> str:
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
