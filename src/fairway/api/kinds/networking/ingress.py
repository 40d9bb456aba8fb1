"""Ingresses: hosts and paths that lead to Services."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Kind, Obj, Status
from fairway.api.kinds.networking.references import validate_local_reference
from fairway.api.kinds.service.status import validate_point
from fairway.api.resources import INGRESSES
from fairway.api.validation.addresses import read_ip
from fairway.api.validation.fields import (
    ErrorList,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.names import (
    dns_label_errors,
    dns_subdomain_errors,
    port_name_errors,
    wildcard_subdomain_errors,
)
from fairway.api.validation.network import ip_warnings, validate_port_number

CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
PATH_TYPES: Final = frozenset({"Exact", "Prefix", "ImplementationSpecific"})
BAD_PARTS: Final = ("//", "/./", "/../", "%2f", "%2F")
BAD_ENDS: Final = ("/..", "/.")
STATUS_FIELD: Final = "status.loadBalancer.ingress"


def default(ingress: Obj) -> None:
    ingress.setdefault("status", {}).setdefault("loadBalancer", {})


def prepare_create(ingress: Obj) -> None:
    ingress["status"] = {"loadBalancer": {}}


def validate(ingress: Obj) -> ErrorList:
    errors = _validate_spec(ingress.get("spec") or {})
    annotation = (ingress["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    name = (ingress.get("spec") or {}).get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        detail = "must match `ingressClassName` when both are specified"
        errors.append(invalid_value(f"annotations.{CLASS_ANNOTATION}", annotation, detail))
    return errors


def validate_update(new: Obj, old: Obj) -> ErrorList:
    return validate_kept_finalizers(new["metadata"]) + _validate_spec(new.get("spec") or {})


def _validate_spec(spec: Obj) -> ErrorList:
    backend, rules = spec.get("defaultBackend"), spec.get("rules") or []
    errors: ErrorList = []
    if not rules and backend is None:
        errors.append(invalid_value("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _validate_backend("spec.defaultBackend", backend)
    for index, rule in enumerate(rules):
        errors += _validate_rule(f"spec.rules[{index}]", rule)
    for index, tls in enumerate(spec.get("tls") or ()):
        errors += _validate_tls(f"spec.tls[{index}]", tls)
    name = spec.get("ingressClassName")
    if name is not None:
        errors += invalid_for_each("spec.ingressClassName", name, dns_subdomain_errors(name))
    return errors


def _validate_host(field: str, host: str) -> ErrorList:
    host_errors = wildcard_subdomain_errors if "*" in host else dns_subdomain_errors
    return invalid_for_each(field, host, host_errors(host))


def _validate_rule(field: str, rule: Obj) -> ErrorList:
    errors: ErrorList = []
    if host := rule.get("host"):
        if read_ip(host) is not None:
            errors.append(invalid_value(f"{field}.host", host, "must be a DNS name, not an IP address"))
        errors += _validate_host(f"{field}.host", host)
    http = rule.get("http")
    if http is None:
        return errors
    paths = http.get("paths") or []
    if not paths:
        errors.append(required(f"{field}.http.paths"))
    for index, path in enumerate(paths):
        errors += _validate_path(f"{field}.http.paths[{index}]", path)
    return errors


def _validate_path(field: str, path: Obj) -> ErrorList:
    kind, text = path.get("pathType"), path.get("path") or ""
    if kind is None:
        return [required(f"{field}.pathType", "pathType must be specified")]
    errors: ErrorList = []
    if kind not in PATH_TYPES:
        errors.append(not_supported(f"{field}.pathType", kind, PATH_TYPES))
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        errors.append(invalid_value(f"{field}.path", text, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        details = [f"must not contain '{part}'" for part in BAD_PARTS if part in text]
        details += [f"cannot end with '{end}'" for end in BAD_ENDS if text.endswith(end)]
        errors += invalid_for_each(f"{field}.path", text, details)
    return errors + _validate_backend(f"{field}.backend", path.get("backend") or {})


def _validate_backend(field: str, backend: Obj) -> ErrorList:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid_value(field, "", "cannot set both resource and service backends")]
    if resource is not None:
        return validate_local_reference(f"{field}.resource", resource)
    if service is not None:
        return _validate_service(field, service)
    return [invalid_value(field, "", "resource or service backend is required")]


def _validate_service(field: str, service: Obj) -> ErrorList:
    errors: ErrorList = []
    if name := service.get("name"):
        errors += invalid_for_each(f"{field}.service.name", name, dns_label_errors(name))
    else:
        errors.append(required(f"{field}.service.name"))
    port = service.get("port") or {}
    number, port_name = port.get("number") or 0, port.get("name") or ""
    if number and port_name:
        errors.append(invalid_value(field, "", "cannot set both port name & port number"))
    elif port_name:
        errors += invalid_for_each(f"{field}.service.port.name", port_name, port_name_errors(port_name))
    elif number:
        errors += validate_port_number(f"{field}.service.port.number", number)
    else:
        errors.append(required(field, "port name or number is required"))
    return errors


def _validate_tls(field: str, tls: Obj) -> ErrorList:
    errors: ErrorList = []
    for index, host in enumerate(tls.get("hosts") or ()):
        errors += _validate_host(f"{field}.hosts[{index}]", host)
    if name := tls.get("secretName"):
        errors += invalid_for_each(f"{field}.secretName", name, dns_subdomain_errors(name))
    return errors


def warnings(ingress: Obj) -> list[str]:
    annotations = ingress["metadata"].get("annotations") or {}
    if CLASS_ANNOTATION not in annotations or (ingress.get("spec") or {}).get("ingressClassName") is not None:
        return []
    return [f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]


def _points(ingress: Obj) -> list[Obj]:
    return ((ingress.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def validate_status(new: Obj, old: Obj) -> ErrorList:
    known = {point.get("ip") for point in _points(old)}
    errors: ErrorList = []
    for index, point in enumerate(_points(new)):
        errors += validate_point(f"{STATUS_FIELD}[{index}]", point, known)
    return errors


def status_warnings(ingress: Obj) -> list[str]:
    return [
        warning
        for index, point in enumerate(_points(ingress))
        if point.get("ip")
        for warning in ip_warnings(f"{STATUS_FIELD}[{index}].ip", point["ip"])
    ]


INGRESS = Kind(
    INGRESSES,
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    update_warnings=lambda new, old: [],
    status=Status(validate_update=validate_status, warnings=status_warnings),
    generation=True,
)
