"""PUT of a whole object, or of its status."""

from __future__ import annotations

from fairway.api.errors import not_found, path_not_found
from fairway.api.kind import Kind, Obj
from fairway.api.validation.fields import ErrorList, required
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.commit import refuse_invalid
from fairway.apiserver.decode import decode_object
from fairway.apiserver.verbs.create import written_answer
from fairway.httpserver import Response


def prepare_main(kind: Kind, new: Obj, old: Obj) -> None:
    """A main write never changes status."""
    kind.default(new)
    if kind.status:
        if "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)
    kind.prepare_update(new, old)


def prepare_status(kind: Kind, new: Obj, old: Obj) -> None:
    """A status write changes status, labels and annotations, nothing else."""
    kind.default(new)
    for name in [*new, *old]:
        if name not in ("metadata", "status", "kind", "apiVersion"):
            if name in old:
                new[name] = old[name]
            else:
                new.pop(name, None)
    kept = {"labels", "annotations", "managedFields", "resourceVersion", "finalizers"}
    before = old["metadata"]
    for name in [*new["metadata"], *before]:
        if name not in kept:
            if name in before:
                new["metadata"][name] = before[name]
            else:
                new["metadata"].pop(name, None)
    if kind.status:
        kind.status.prepare_update(new, old)


def validate_main(kind: Kind, new: Obj, old: Obj) -> ErrorList:
    return kind.validate_update(new, old)


def validate_status(kind: Kind, new: Obj, old: Obj) -> ErrorList:
    return kind.status.validate_update(new, old) if kind.status else []


def update_warnings(kind: Kind, new: Obj, old: Obj) -> list[str]:
    return kind.update_warnings(new, old) if kind.update_warnings else kind.warnings(new)


def status_warnings(kind: Kind, new: Obj, old: Obj) -> list[str]:
    return kind.status.warnings(new) if kind.status else []


async def update(api: Api, call: Call) -> Response:
    if call.subresource and not (call.subresource == "status" and call.kind.status):
        raise path_not_found()
    kind = call.kind
    first = decode_object(call)
    if not kind.unconditional_update and not first["metadata"].get("resourceVersion"):
        missing = required("metadata.resourceVersion", "must be specified for an update")
        if call.key in api.store.bucket(kind.resource).entries:
            refuse_invalid(kind, first, [missing])
    if kind.create_on_update and not call.subresource:
        try:
            return await _replace(api, call)
        except Exception as error:
            if getattr(error, "code", 0) != 404 or first["metadata"].get("resourceVersion"):
                raise
        written = await api.committer.create(kind, first, call.namespace, dry_run=call.dry_run)
        return written_answer(call, written, 201)
    return await _replace(api, call)


async def _replace(api: Api, call: Call) -> Response:
    kind = call.kind
    if call.key not in api.store.bucket(kind.resource).entries:
        raise not_found(kind.resource, call.name)
    status = call.subresource == "status"
    written = await api.committer.update(
        kind,
        call.key,
        lambda old: decode_object(call),
        prepare=prepare_status if status else prepare_main,
        validate=lambda new, old: (validate_status if status else validate_main)(kind, new, old),
        warn=lambda new, old: (status_warnings if status else update_warnings)(kind, new, old),
        allocate=not status,
        dry_run=call.dry_run,
    )
    return written_answer(call, written)
