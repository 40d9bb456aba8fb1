"""pods/binding, and bindings of a namespace: the scheduler's word on which node a Pod belongs to."""

from __future__ import annotations

from dataclasses import replace

from fairway.api.errors import StatusError, bad_request, conflict
from fairway.api.kind import Obj
from fairway.api.kinds.pod import POD
from fairway.api.metadata import timestamp
from fairway.api.resources import NODES, Resource
from fairway.api.validation.fields import ErrorList, invalid, not_supported, required
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.decode import decode_object
from fairway.apiserver.options import check_writing
from fairway.apiserver.parts import Part
from fairway.apiserver.pod_conditions import set_condition
from fairway.apiserver.respond import document_answer
from fairway.apiserver.tracking import note_nothing
from fairway.apiserver.verbs.update import uid_mismatch
from fairway.httpserver import Response

BINDING = Resource("", "v1", "bindings", "Binding")
BINDING_PART = Part("binding")
# Where a node is: its Pods may want to know.
TOPOLOGY = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def bind(api: Api, call: Call) -> Response:
    check_writing(call)
    binding = decode_object(call, BINDING)
    name = binding["metadata"].get("name", "")
    if call.name and name != call.name:
        raise bad_request("name in URL does not match name in Binding object")
    if errors := _errors(binding.get("target") or {}):
        raise invalid("Binding", "", name, errors)
    pod_call = replace(call, kind=POD, name=name)

    def assign(pod: Obj) -> Obj:
        _refuse_unbindable(pod_call, pod, binding["metadata"].get("uid"))
        return _assigned(api, pod, binding)

    await api.committer.update(
        POD, pod_call.key, assign, part=BINDING_PART, track=note_nothing, dry_run=call.dry_run
    )
    return document_answer(call, SUCCESS, 201)


def _errors(target: Obj) -> ErrorList:
    errors: ErrorList = []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


def _refuse_unbindable(call: Call, pod: Obj, uid: str | None) -> None:
    metadata, spec, name = pod["metadata"], pod["spec"], call.name
    if uid and uid != metadata["uid"]:
        raise uid_mismatch(call, uid, metadata["uid"])
    if metadata.get("deletionTimestamp"):
        raise _refused(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _refused(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _refused(name, f"pod {name} has non-empty .spec.schedulingGates")


def _assigned(api: Api, pod: Obj, binding: Obj) -> Obj:
    """A binding's annotations are the Pod's from now on, its labels and the node's place only if they are
    new."""
    metadata, given, node = pod["metadata"], binding["metadata"], binding["target"]["name"]
    pod["spec"]["nodeName"] = node
    if annotations := given.get("annotations"):
        metadata["annotations"] = {**metadata.get("annotations", {}), **annotations}
    if labels := {**(given.get("labels") or {}), **_topology(api, node)}:
        metadata["labels"] = {**labels, **metadata.get("labels", {})}
    pod.setdefault("status", {}).pop("nominatedNodeName", None)
    set_condition(pod, {"type": "PodScheduled", "status": "True"}, timestamp(api.committer.clock()))
    return pod


def _topology(api: Api, node: str) -> Obj:
    entry = api.store.bucket(NODES).entries.get(node)
    return {key: value for key, value in (entry.labels if entry else {}).items() if key in TOPOLOGY}


def _refused(name: str, why: str) -> StatusError:
    return conflict(Resource("", "v1", "pods/binding", "Pod"), name, why)
