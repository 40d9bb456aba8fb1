"""Secrets: what each type has to hold, and what can't be changed."""

from __future__ import annotations

import base64
import json
from typing import Final

from fairway.api.kind import Kind, Obj
from fairway.api.kinds.key_pairs import key_pair_fault
from fairway.api.resources import SECRETS
from fairway.api.schema.syntax import explain
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_for_each,
    invalid_value,
    required,
    too_long,
)
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.names import config_map_key_errors
from fairway.api.validation.values import validate_immutable

LARGEST: Final = 1024 * 1024
FIXED: Final = "field is immutable when `immutable` is set"
ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
DOCKER_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
TLS_KEYS: Final = ("tls.crt", "tls.key")


def default(secret: Obj) -> None:
    """`stringData` is write-only: it becomes base64 in `data`."""
    if not secret.get("type"):
        secret["type"] = "Opaque"
    texts = secret.pop("stringData", None)
    if texts:
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        secret["data"] = {**(secret.get("data") or {}), **encoded}


def decoded_size(text: str | None) -> int:
    """How many bytes a base64 text stands for."""
    return len(text) * 3 // 4 - text.count("=") if text else 0


def validate(secret: Obj) -> ErrorList:
    data = secret.get("data") or {}
    errors: ErrorList = []
    for key in sorted(data):
        errors += invalid_for_each(f"data[{key}]", key, config_map_key_errors(key))
    if sum(map(decoded_size, data.values())) > LARGEST:
        errors.append(too_long("data", LARGEST))
    return errors + _validate_type(secret.get("type", ""), data, secret["metadata"])


def _validate_type(kind: str, data: Obj, metadata: Obj) -> ErrorList:
    if kind == "kubernetes.io/service-account-token":
        named = (metadata.get("annotations") or {}).get(ACCOUNT_NAME)
        return [] if named else [required(f"metadata.annotations[{ACCOUNT_NAME}]")]
    if kind in DOCKER_KEYS:
        return _validate_docker(DOCKER_KEYS[kind], data)
    if kind == "kubernetes.io/basic-auth":
        keys = ("username", "password")
        return [] if any(key in data for key in keys) else [required(f"data[{key}]") for key in keys]
    if kind == "kubernetes.io/ssh-auth":
        return [] if data.get("ssh-privatekey") else [required("data[ssh-privatekey]")]
    if kind == "kubernetes.io/tls":
        return [required(f"data[{key}]") for key in TLS_KEYS if key not in data]
    return []


def _validate_docker(key: str, data: Obj) -> ErrorList:
    if key not in data:
        return [required(f"data[{key}]")]
    document = base64.b64decode(data[key] or "")
    fault = explain(document) or _not_an_object(document)
    return [invalid_value(f"data[{key}]", "<secret contents redacted>", fault)] if fault else []


def _not_an_object(document: bytes) -> str:
    value = json.loads(document)
    if value is None or isinstance(value, dict):
        return ""
    kinds = {list: "array", str: "string", bool: "bool"}
    kind = kinds.get(type(value), "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def validate_frozen(new: Obj, old: Obj, *parts: str) -> ErrorList:
    """Nothing of an object that was made immutable may change, that it is so least of all."""
    if not old.get("immutable"):
        return []
    errors: ErrorList = [] if new.get("immutable") else [forbidden_field("immutable", FIXED)]
    return errors + [
        forbidden_field(part, FIXED) for part in parts if (new.get(part) or {}) != (old.get(part) or {})
    ]


def validate_update(new: Obj, old: Obj) -> ErrorList:
    errors = validate_immutable("type", new.get("type", ""), old.get("type", ""))
    errors += validate_frozen(new, old, "data")
    return errors + validate_kept_finalizers(new["metadata"]) + validate(new)


def warnings(secret: Obj) -> list[str]:
    if secret.get("type") != "kubernetes.io/tls":
        return []
    certificate, key = ((secret.get("data") or {}).get(name) or "" for name in TLS_KEYS)
    fault = key_pair_fault(base64.b64decode(certificate), base64.b64decode(key))
    return [fault] if fault else []


SECRET = Kind(
    SECRETS,
    default=default,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    fields={"type": lambda secret: str(secret.get("type", ""))},
)
