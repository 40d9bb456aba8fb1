"""pods/binding: the scheduler's word on which node a Pod belongs to."""

from __future__ import annotations

from fairway.api.errors import conflict, method_not_allowed
from fairway.api.kind import Obj
from fairway.api.metadata import timestamp
from fairway.api.resources import Resource
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import decode_object
from fairway.apiserver.encoding import encode
from fairway.httpserver import Response

BINDING = Resource("", "v1", "bindings", "Binding")


async def bind(api: Api, call: Call) -> Response:
    if call.verb != "create":
        raise method_not_allowed()
    binding = decode_object(call, BINDING)
    node = (binding.get("target") or {}).get("name", "")

    def assign(pod: Obj) -> Obj:
        if pod["spec"].get("nodeName"):
            raise conflict(
                call.kind.resource,
                call.name,
                f'pod {call.name} is already assigned to node "{pod["spec"]["nodeName"]}"',
            )
        pod["spec"]["nodeName"] = node
        set_scheduled(pod, timestamp(api.committer.clock()))
        metadata = binding["metadata"]
        if metadata.get("annotations"):
            pod["metadata"].setdefault("annotations", {}).update(metadata["annotations"])
        return pod

    await api.committer.update(
        call.kind,
        call.key,
        assign,
        prepare=lambda kind, new, old: None,
        validate=lambda new, old: [],
        dry_run=call.dry_run,
    )
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, encode(status))


def set_scheduled(pod: Obj, now: str) -> None:
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [c for c in conditions if c.get("type") != "PodScheduled"]
    conditions.append(
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    )
