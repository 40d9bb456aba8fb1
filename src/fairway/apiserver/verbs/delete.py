"""DELETE of one object or of all that match: at once, with grace, or once its finalizers are gone."""

from __future__ import annotations

from dataclasses import dataclass

from fairway.api.errors import conflict, details_of, method_not_allowed, not_found
from fairway.api.kind import Kind, Obj
from fairway.api.metadata import mark_deleted, timestamp
from fairway.api.resources import NAMESPACES, Resource
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.commit import ATTEMPTS, Written, is_finished
from fairway.apiserver.decode import decode_options
from fairway.apiserver.encoding import encode, stored_text
from fairway.apiserver.entry import Entry
from fairway.apiserver.respond import form_of, list_answer, object_answer, warning_headers
from fairway.apiserver.verbs.list import selected
from fairway.httpserver import Response
from fairway.storage.backend import Compare, CompareFailed, Put

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


@dataclass(frozen=True, slots=True)
class Options:
    grace: int | None = None
    propagation: str = ""
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False


def options_of(call: Call) -> Options:
    """From the body (DeleteOptions) or, without one, from the query."""
    params = call.params
    body = decode_options(call)
    preconditions = body.get("preconditions") or {}
    grace = body.get("gracePeriodSeconds", params.get("gracePeriodSeconds"))
    propagation = body.get("propagationPolicy") or params.get("propagationPolicy") or ""
    if body.get("orphanDependents", params.get("orphanDependents")) in (True, "true"):
        propagation = "Orphan"
    return Options(
        int(grace) if grace is not None else None,
        propagation,
        preconditions.get("uid") or "",
        preconditions.get("resourceVersion") or "",
        call.dry_run or bool(body.get("dryRun")),
    )


async def delete(api: Api, call: Call) -> Response:
    if call.subresource:
        raise method_not_allowed()
    options = options_of(call)
    written = await delete_entry(api, call.kind, call.key, options)
    if written.removed and not call.kind.returns_deleted:
        return _success(call, written.obj)
    return object_answer(call, written.obj)


def _success(call: Call, obj: Obj) -> Response:
    details = details_of(call.kind.resource, call.name)
    details["uid"] = obj["metadata"]["uid"]
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Response(200, encode(status), headers=warning_headers(call.warnings))


async def delete_collection(api: Api, call: Call) -> Response:
    options = options_of(call)
    entries = selected(api, call)
    for entry in entries:
        try:
            await delete_entry(api, call.kind, entry.key, options)
        except Exception as error:
            if getattr(error, "code", 0) != 404:
                raise
    form_of(call)
    return list_answer(call, entries, {"resourceVersion": str(api.store.revision)})


async def delete_entry(api: Api, kind: Kind, key: str, options: Options) -> Written:
    bucket = api.store.bucket(kind.resource)
    name = key.rpartition("/")[2]
    for _ in range(ATTEMPTS):
        entry = bucket.entries.get(key)
        if entry is None:
            raise not_found(kind.resource, name)
        obj = entry.obj()
        check_preconditions(kind.resource, obj, options)
        try:
            return await _delete_once(api, kind, entry, obj, options)
        except CompareFailed:
            await api.store.advance()
    raise conflict(kind.resource, name)


async def _delete_once(api: Api, kind: Kind, entry: Entry, obj: Obj, options: Options) -> Written:
    before = stored_text(obj)
    mark(kind, obj, options, api)
    if is_finished(kind, obj):
        return await api.committer.remove(kind, entry, options.dry_run)
    text = stored_text(obj)
    if options.dry_run or text == before:
        return Written(obj)
    bucket = api.store.bucket(kind.resource)
    key = bucket.storage_key(entry.key)
    await api.store.transact([Compare(key, entry.revision)], [Put(key, text)])
    written = bucket.entries.get(entry.key)
    return Written(written.obj() if written else obj)


def mark(kind: Kind, obj: Obj, options: Options, api: Api) -> None:
    """What a deletion does to an object that may yet stay for a while."""
    metadata = obj["metadata"]
    finalizers = wanted_finalizers(metadata.get("finalizers") or [], options.propagation)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    now = api.committer.clock()
    grace = grace_of(kind, obj, options)
    if not metadata.get("deletionTimestamp"):
        mark_deleted(obj, now, grace)
        if kind.resource == NAMESPACES:
            obj.setdefault("status", {})["phase"] = "Terminating"
    elif grace < metadata.get("deletionGracePeriodSeconds", 0):
        metadata["deletionGracePeriodSeconds"] = grace
        metadata["deletionTimestamp"] = timestamp(now)


def grace_of(kind: Kind, obj: Obj, options: Options) -> int:
    if kind.graceful is None:
        return 0
    usual = kind.graceful(obj)
    if usual == 0:
        return 0
    if obj["metadata"].get("deletionTimestamp") and options.grace is None:
        return int(obj["metadata"].get("deletionGracePeriodSeconds", usual))
    return usual if options.grace is None else max(0, options.grace)


def wanted_finalizers(finalizers: list[str], propagation: str) -> list[str]:
    if propagation == "Orphan":
        return [f for f in finalizers if f not in (ORPHAN, FOREGROUND)] + [ORPHAN]
    if propagation == "Foreground":
        return [f for f in finalizers if f not in (ORPHAN, FOREGROUND)] + [FOREGROUND]
    if propagation == "Background":
        return [f for f in finalizers if f not in (ORPHAN, FOREGROUND)]
    return finalizers


def check_preconditions(resource: Resource, obj: Obj, options: Options) -> None:
    metadata = obj["metadata"]
    plain = Resource("", "v1", resource.kind, resource.kind)
    if options.uid and options.uid != metadata["uid"]:
        raise conflict(
            plain,
            metadata["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record"
            f" ({metadata['uid']}). The object might have been deleted and then recreated",
        )
    if options.resource_version not in ("", metadata["resourceVersion"]):
        raise conflict(
            plain,
            metadata["name"],
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the"
            f" ResourceVersion in record ({metadata['resourceVersion']})."
            " The object might have been modified",
        )
