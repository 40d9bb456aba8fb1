"""Events: what happened to an object, for people to read."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Kind, Obj
from fairway.api.resources import EVENTS
from fairway.api.validation.fields import (
    ErrorList,
    FieldError,
    invalid_for_each,
    invalid_value,
    required,
)
from fairway.api.validation.names import dns_subdomain_errors, path_segment_name, qualified_name_errors

LONGEST: Final = 128
LONGEST_MESSAGE: Final = 1024
OTHER_NAMESPACE: Final = "does not match event.namespace"


def validate(event: Obj) -> ErrorList:
    """Events that say when they happened are of the newer sort, of which more is asked."""
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    if event.get("eventTime"):
        homeless = not about and namespace not in ("default", "kube-system")
        errors = [_misplaced(about)] if homeless else []
        errors += validate_report(event, "reportingComponent")
    else:
        misplaced = namespace not in ("", "default") if not about else namespace != about
        errors = [_misplaced(about)] if misplaced else []
    return errors + invalid_for_each("namespace", namespace, dns_subdomain_errors(namespace))


def _misplaced(about: str) -> FieldError:
    return invalid_value("involvedObject.namespace", about, OTHER_NAMESPACE)


def validate_report(event: Obj, controller: str) -> ErrorList:
    """Who reports what; `controller` is what the API calls the reporter."""
    name = event.get("reportingComponent", "")
    errors: ErrorList = [] if name else [required(controller)]
    errors += invalid_for_each(controller, name, qualified_name_errors(name))
    for part in ("reportingInstance", "action", "reason"):
        text = event.get(part, "")
        if not text:
            errors.append(required(part))
        if len(text.encode()) > LONGEST:
            errors.append(invalid_value(part, "", f"can have at most {LONGEST} characters"))
    if len(event.get("message", "").encode()) > LONGEST_MESSAGE:
        errors.append(invalid_value("message", "", f"can have at most {LONGEST_MESSAGE} characters"))
    return errors


def _text(event: Obj, *path: str) -> str:
    value: object = event
    for part in path:
        value = value.get(part, "") if isinstance(value, dict) else ""
    return str(value)


EVENT = Kind(
    EVENTS,
    validate=validate,
    validate_update=lambda new, old: validate(new),
    create_on_update=True,
    dependents="",
    name_errors=path_segment_name,
    fields={
        "involvedObject.kind": lambda e: _text(e, "involvedObject", "kind"),
        "involvedObject.namespace": lambda e: _text(e, "involvedObject", "namespace"),
        "involvedObject.name": lambda e: _text(e, "involvedObject", "name"),
        "involvedObject.uid": lambda e: _text(e, "involvedObject", "uid"),
        "involvedObject.apiVersion": lambda e: _text(e, "involvedObject", "apiVersion"),
        "involvedObject.resourceVersion": lambda e: _text(e, "involvedObject", "resourceVersion"),
        "involvedObject.fieldPath": lambda e: _text(e, "involvedObject", "fieldPath"),
        "reason": lambda e: _text(e, "reason"),
        "reportingComponent": lambda e: _text(e, "reportingComponent") or _text(e, "source", "component"),
        "source": lambda e: _text(e, "source", "component") or _text(e, "reportingComponent"),
        "type": lambda e: _text(e, "type"),
    },
)
