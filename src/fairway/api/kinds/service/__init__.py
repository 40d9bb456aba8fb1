"""Services: what the kind is made of. Addresses and node ports are given by the API server's allocators."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import ANY_METHOD, Kind, Status, Subresource
from fairway.api.kinds.service.defaults import default
from fairway.api.kinds.service.status import status_warnings, validate_status
from fairway.api.kinds.service.update import prepare_create, prepare_update, validate_update
from fairway.api.kinds.service.validation import validate
from fairway.api.kinds.service.warnings import warnings
from fairway.api.resources import SERVICES
from fairway.api.validation.names import label_name

SERVICE: Final = Kind(
    SERVICES,
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    status=Status(validate_update=validate_status, warnings=status_warnings),
    create_on_update=True,
    returns_deleted=True,
    name_errors=label_name,
    fields={
        "spec.clusterIP": lambda service: str((service.get("spec") or {}).get("clusterIP", "")),
        "spec.type": lambda service: str((service.get("spec") or {}).get("type", "")),
    },
    extra=(Subresource("proxy", "ServiceProxyOptions", ANY_METHOD),),
)
