"""Claims on devices that a Pod makes, and the names its containers know them by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.names import validate_label, validate_subdomain
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
)
from fairway.api.validation.internal_form import shown

MIRROR: Final = "kubernetes.io/config.mirror"
SOURCES: Final = ("resourceClaimName", "resourceClaimTemplateName")


def validate_resource_claims(field: str, claims: Sequence[Obj], metadata: Obj | None) -> ErrorList:
    if MIRROR in ((metadata or {}).get("annotations") or {}):
        return [forbidden_field("[]", "static pods do not support resource claims") for _ in claims]
    errors: ErrorList = []
    names: set[str] = set()
    for index, claim in enumerate(claims):
        errors += _validate_claim(f"{field}[{index}]", claim, names)
    return errors


def _validate_claim(field: str, claim: Obj, names: set[str]) -> ErrorList:
    name = claim.get("name", "")
    errors: ErrorList = []
    if not name:
        errors.append(required(f"{field}.name"))
    elif name in names:
        errors.append(duplicate(f"{field}.name", name))
    else:
        errors += validate_label(f"{field}.name", name)
        names.add(name)
    given = [source for source in SOURCES if claim.get(source) is not None]
    if len(given) != 1:
        few = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        many = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        value = shown("core.v1.PodResourceClaim", claim)
        errors.append(invalid_value(field, value, many if given else few))
    for source in given:
        errors += validate_subdomain(f"{field}.{source}", claim[source])
    return errors
