"""ConfigMaps and ServiceAccounts."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Kind, Obj, Subresource
from fairway.api.kinds.secret import LARGEST, decoded_size, validate_frozen
from fairway.api.resources import CONFIG_MAPS, SERVICE_ACCOUNTS
from fairway.api.validation.fields import ErrorList, invalid_for_each, invalid_value, too_long
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.names import config_map_key_errors

ENFORCED: Final = "kubernetes.io/enforce-mountable-secrets"


def validate_config_map(config_map: Obj) -> ErrorList:
    texts, binaries = config_map.get("data") or {}, config_map.get("binaryData") or {}
    errors: ErrorList = []
    for key in sorted(texts):
        errors += invalid_for_each(f"data[{key}]", key, config_map_key_errors(key))
        if key in binaries:
            errors.append(invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in sorted(binaries):
        errors += invalid_for_each(f"binaryData[{key}]", key, config_map_key_errors(key))
    size = sum(len(text) if text.isascii() else len(text.encode()) for text in texts.values())
    if size + sum(map(decoded_size, binaries.values())) > LARGEST:
        errors.append(too_long("[]", LARGEST))
    return errors


def validate_config_map_update(new: Obj, old: Obj) -> ErrorList:
    errors = validate_frozen(new, old, "data", "binaryData")
    return errors + validate_kept_finalizers(new["metadata"]) + validate_config_map(new)


def keep_names_only(account: Obj) -> None:
    """Of the Secrets a ServiceAccount refers to, only the names count."""
    if secrets := account.get("secrets"):
        account["secrets"] = [{"name": s["name"]} if s.get("name") else {} for s in secrets]


def account_warnings(account: Obj) -> list[str]:
    if ENFORCED not in (account["metadata"].get("annotations") or {}):
        return []
    return [
        f"metadata.annotations[{ENFORCED}]: deprecated in v1.32+; prefer separate namespaces to isolate "
        "access to mounted secrets"
    ]


CONFIG_MAP = Kind(
    CONFIG_MAPS,
    validate=validate_config_map,
    validate_update=validate_config_map_update,
)
SERVICE_ACCOUNT = Kind(
    SERVICE_ACCOUNTS,
    prepare_create=keep_names_only,
    prepare_update=lambda new, old: keep_names_only(new),
    validate_update=lambda new, old: validate_kept_finalizers(new["metadata"]),
    warnings=account_warnings,
    returns_deleted=True,
    extra=(Subresource("token", "TokenRequest", ("create",), "authentication.k8s.io", "v1"),),
)
