"""Why a write is refused before it is tried: the wrong state, an invalid object, a name that is taken."""

from __future__ import annotations

from fairway.api.errors import StatusError, already_exists, bad_request, conflict, forbidden
from fairway.api.kind import Kind, Obj
from fairway.api.resources import Resource
from fairway.api.validation.fields import ErrorList, invalid, invalid_value
from fairway.api.validation.managed_fields import validate_managed_fields
from fairway.api.validation.metadata import validate_metadata
from fairway.apiserver.entry import Entry
from fairway.apiserver.options import version_fault


def demand_version(kind: Kind, new: Obj, old: Obj) -> None:
    """409 unless the client means the stored state, or any."""
    metadata, current = new["metadata"], old["metadata"]["resourceVersion"]
    wanted = metadata.get("resourceVersion") or "0"
    resource, name = kind.resource, old["metadata"]["name"]
    if wanted == current:
        return
    if problem := version_fault(wanted):
        raise bad_request(f'resourceVersion: Invalid value: "{wanted}": {problem}')
    if int(wanted) != 0:
        raise conflict(resource, name)
    if not kind.unconditional_update:
        missing = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(resource.plural, resource.group, name, [missing])
    metadata["resourceVersion"] = current


def refuse_invalid(kind: Kind, obj: Obj, errors: ErrorList) -> None:
    if errors:
        resource = kind.face.of if kind.face else kind.resource
        raise invalid(resource.kind, resource.group, obj["metadata"].get("name", ""), errors)


def is_ending(entry: Entry) -> bool:
    return b'"deletionTimestamp"' in entry.body and "deletionTimestamp" in entry.obj()["metadata"]


def exists_already(resource: Resource, known: Entry) -> StatusError:
    error = already_exists(resource, known.name)
    if is_ending(known):
        error.message = f"object is being deleted: {error.message}"
    return error


def no_name_found(resource: Resource, name: str) -> StatusError:
    error = already_exists(resource, name)
    error.message += ", the server was not able to generate a unique name for the object"
    assert error.details is not None
    error.details["retryAfterSeconds"] = 1
    return error


def namespace_ending(resource: Resource, name: str, namespace: str) -> StatusError:
    error = forbidden(
        resource,
        name,
        f"unable to create new content in namespace {namespace} because it is being terminated",
    )
    assert error.details is not None
    error.details["causes"] = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    return error


def validate_new_metadata(kind: Kind, obj: Obj) -> ErrorList:
    metadata = obj["metadata"]
    errors = validate_metadata(metadata, namespaced=kind.resource.namespaced, name_errors=kind.name_errors)
    entries = metadata.get("managedFields") or ()
    # A single entry is the one that was just made for the client.
    return errors + validate_managed_fields(entries) if len(entries) > 1 else errors
