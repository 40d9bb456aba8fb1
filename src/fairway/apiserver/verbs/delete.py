"""DELETE of one object or of all that match: at once, with grace, or once its finalizers are gone."""

from __future__ import annotations

from typing import Any

from fairway.api.errors import conflict, details_of, forbidden, invalid_object, not_found
from fairway.api.kind import Kind, Obj
from fairway.api.resources import NAMESPACES
from fairway.api.validation.fields import ErrorList, invalid_value, not_supported
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.commit import ATTEMPTS, Written
from fairway.apiserver.decode import decode_options
from fairway.apiserver.deletion import IMMORTAL, Options, Step, demand, next_step
from fairway.apiserver.entry import Entry
from fairway.apiserver.matching import selected
from fairway.apiserver.options import check_listing, dry_run_errors, number, refused_options
from fairway.apiserver.respond import document_answer, list_answer, object_answer
from fairway.apiserver.tracking import same
from fairway.httpserver import Response
from fairway.storage.backend import CompareFailed

POLICIES = ("Foreground", "Background", "Orphan", "nil")
UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"


async def delete(api: Api, call: Call) -> Response:
    options = options_of(call)
    written = await delete_entry(api, call.kind, call.key, options)
    if written.removed and not call.kind.returns_deleted:
        return _success(call, written.obj)
    accepted = not written.removed and options.orphan is False
    return object_answer(call, written.obj, 202 if accepted else 200)


def _success(call: Call, obj: Obj) -> Response:
    details = details_of(call.kind.resource, call.name)
    details["uid"] = obj["metadata"]["uid"]
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return document_answer(call, status)


async def delete_collection(api: Api, call: Call) -> Response:
    options = options_of(call)
    check_listing(call, watching=False)
    entries = selected(api, call)
    if (limit := number(call, "limit")) > 0:
        entries = entries[:limit]
    shown = api.store.revision
    for entry in entries:
        try:
            await delete_entry(api, call.kind, entry.key, options)
        except Exception as error:
            if getattr(error, "code", 0) != 404:
                raise
    return list_answer(call, entries, {"resourceVersion": str(shown)})


async def delete_entry(api: Api, kind: Kind, key: str, options: Options) -> Written:
    """Carry out a deletion as far as it goes now."""
    bucket = api.store.bucket(kind.resource)
    namespace, _, name = key.rpartition("/")
    for _ in range(ATTEMPTS):
        entry = bucket.entries.get(key)
        if entry is None:
            raise not_found(kind.resource, name)
        obj = entry.obj()
        _refuse(kind, namespace, name, options)
        demand(kind.resource, obj, options)
        step = next_step(kind, obj, options, api.committer.clock())
        try:
            return await _take(api, kind, entry, step, options.dry_run)
        except CompareFailed:
            await api.store.advance()
    raise conflict(kind.resource, name)


async def _take(api: Api, kind: Kind, entry: Entry, step: Step, dry_run: bool) -> Written:
    marked = step.marked
    if marked is not None and not same(marked, entry.obj()):
        if dry_run:
            return Written(marked, removed=step.remove)
        rewritten = await api.committer.rewrite(kind, entry, marked)
        if rewritten is None:
            return Written(marked, removed=True)
        entry = rewritten
    if step.remove:
        return await api.committer.remove(kind, entry, dry_run)
    return Written(entry.obj())


def _refuse(kind: Kind, namespace: str, name: str, options: Options) -> None:
    if kind.resource == NAMESPACES and name in IMMORTAL:
        raise forbidden(NAMESPACES, name, "this namespace may not be deleted")
    if options.unsafe:
        why = "unsafe deletion is not allowed because the object is decodable from storage"
        raise invalid_object(kind.resource, namespace, name, why)


# -- options ---------------------------------------------------------------------------------------------


def options_of(call: Call) -> Options:
    """From the body (DeleteOptions) or, without one, from the query."""
    if call.request.body:
        return checked_options(decode_options(call))
    params = call.params
    given: Obj = {name: params[name] for name in ("propagationPolicy",) if params.get(name)}
    if "gracePeriodSeconds" in params:
        given["gracePeriodSeconds"] = number(call, "gracePeriodSeconds")
    for name in ("orphanDependents", UNSAFE):
        if name in params:
            given[name] = call.flag(name)
    if "dryRun" in params:
        given["dryRun"] = [params["dryRun"]]
    return checked_options(given)


def checked_options(given: Obj) -> Options:
    errors = _errors(given)
    if errors:
        raise refused_options("DeleteOptions", errors)
    preconditions: dict[str, Any] = given.get("preconditions") or {}
    return Options(
        given.get("gracePeriodSeconds"),
        given.get("propagationPolicy") or "",
        given.get("orphanDependents"),
        preconditions.get("uid") or "",
        preconditions.get("resourceVersion") or "",
        bool(given.get("dryRun")),
        bool(given.get(UNSAFE)),
    )


def _errors(given: Obj) -> ErrorList:
    errors: ErrorList = []
    policy = given.get("propagationPolicy")
    if policy is not None and given.get("orphanDependents") is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid_value("propagationPolicy", policy, detail))
    if policy is not None and policy not in POLICIES[:3]:
        errors.append(not_supported("propagationPolicy", policy, POLICIES))
    errors += dry_run_errors(given.get("dryRun") or [])
    if given.get(UNSAFE):
        others = ("dryRun", "gracePeriodSeconds", "orphanDependents", "preconditions", "propagationPolicy")
        errors += [
            invalid_value(UNSAFE, True, f"cannot be set together with .{name}")
            for name in others
            if given.get(name)
        ]
    return errors
