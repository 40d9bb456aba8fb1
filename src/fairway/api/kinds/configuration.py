"""ConfigMaps, Secrets and ServiceAccounts."""

from __future__ import annotations

import base64

from fairway.api.kind import Kind, Obj, Subresource
from fairway.api.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS


def default_secret(secret: Obj) -> None:
    secret.setdefault("type", "Opaque")


def fold_string_data(secret: Obj) -> None:
    """`stringData` is write-only: it becomes base64 in `data`."""
    texts = secret.pop("stringData", None)
    if texts:
        data = secret.setdefault("data", {})
        for name, text in texts.items():
            data[name] = base64.b64encode(text.encode()).decode()


CONFIG_MAP = Kind(CONFIG_MAPS)
SECRET = Kind(
    SECRETS,
    default=default_secret,
    prepare_create=fold_string_data,
    prepare_update=lambda new, old: fold_string_data(new),
    fields={"type": lambda secret: secret.get("type", "")},
)
SERVICE_ACCOUNT = Kind(
    SERVICE_ACCOUNTS,
    returns_deleted=True,
    extra=(Subresource("token", "TokenRequest", ("create",), "authentication.k8s.io", "v1"),),
)
