"""IngressClasses: which controller carries out an Ingress."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Kind, Obj
from fairway.api.kinds.networking.references import validate_group, validate_segment
from fairway.api.resources import INGRESS_CLASSES
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_for_each,
    not_supported,
    required,
    too_long,
)
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.names import dns_label_errors
from fairway.api.validation.values import validate_domain_prefixed_path, validate_immutable

LONGEST_CONTROLLER: Final = 250
SCOPES: Final = frozenset({"Cluster", "Namespace"})
FIELD: Final = "spec.parameters"


def default(ingress_class: Obj) -> None:
    parameters = (ingress_class.get("spec") or {}).get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def validate(ingress_class: Obj) -> ErrorList:
    spec = ingress_class.get("spec") or {}
    controller = spec.get("controller") or ""
    errors: ErrorList = []
    if len(controller.encode()) > LONGEST_CONTROLLER:
        errors.append(too_long("spec.controller", LONGEST_CONTROLLER))
    errors += validate_domain_prefixed_path("spec.controller", controller)
    parameters = spec.get("parameters")
    return errors if parameters is None else errors + _validate_parameters(parameters)


def _validate_parameters(parameters: Obj) -> ErrorList:
    """What is merely missing is reported last, for Kubernetes checks that by declaration."""
    errors: ErrorList = []
    if parameters.get("apiGroup") is not None:
        errors += validate_group(f"{FIELD}.apiGroup", parameters["apiGroup"])
    for name in ("kind", "name"):
        if text := parameters.get(name):
            errors += validate_segment(f"{FIELD}.{name}", text)
    errors += _validate_scope(parameters)
    missing = [required(f"{FIELD}.{name}") for name in ("kind", "name") if not parameters.get(name)]
    return errors + missing


def _validate_scope(parameters: Obj) -> ErrorList:
    scope, namespace, field = parameters["scope"], parameters.get("namespace"), f"{FIELD}.namespace"
    if scope not in SCOPES:
        return [not_supported(f"{FIELD}.scope", scope, SCOPES)]
    if scope == "Cluster":
        said = "`parameters.scope` is set to 'Cluster'"
        return [] if namespace is None else [forbidden_field(field, said)]
    if namespace is None:
        return [required(field, "`parameters.scope` is set to 'Namespace'")]
    return invalid_for_each(field, namespace, dns_label_errors(namespace))


def validate_update(new: Obj, old: Obj) -> ErrorList:
    controller, before = (((each.get("spec") or {}).get("controller") or "") for each in (new, old))
    errors = validate_immutable("spec.controller", controller, before)
    return errors + validate_kept_finalizers(new["metadata"]) + validate(new)


INGRESS_CLASS = Kind(
    INGRESS_CLASSES, default=default, validate=validate, validate_update=validate_update, generation=True
)
