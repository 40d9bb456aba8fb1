"""pods/eviction: a deletion that asks first."""

from __future__ import annotations

from fairway.api.errors import method_not_allowed
from fairway.api.resources import Resource
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import decode_object
from fairway.apiserver.encoding import encode
from fairway.apiserver.verbs.delete import Options, delete_entry
from fairway.httpserver import Response

EVICTION = Resource("policy", "v1", "evictions", "Eviction")


async def evict(api: Api, call: Call) -> Response:
    if call.verb != "create":
        raise method_not_allowed()
    eviction = decode_object(call, EVICTION)
    wanted = eviction.get("deleteOptions") or {}
    preconditions = wanted.get("preconditions") or {}
    options = Options(
        wanted.get("gracePeriodSeconds"),
        wanted.get("propagationPolicy") or "",
        preconditions.get("uid") or "",
        preconditions.get("resourceVersion") or "",
        call.dry_run or bool(wanted.get("dryRun")),
    )
    await delete_entry(api, call.kind, call.key, options)
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, encode(status))
