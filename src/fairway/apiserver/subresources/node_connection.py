"""pods/exec, attach, portforward and log: passed on to the agent of the node where the Pod runs."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from fairway.api.errors import StatusError, bad_request, not_found
from fairway.api.kind import Obj
from fairway.api.resources import NODES, PODS
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.verbs.get import found
from fairway.httpserver.messages import Answer

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
# What the agent calls them, after kubelet.
AGENT_PATHS = {"exec": "exec", "attach": "attach", "portforward": "portForward", "log": "containerLogs"}


async def streams(api: Api, call: Call) -> Answer:
    return await _forward(api, call, upgrade=True)


async def logs(api: Api, call: Call) -> Answer:
    return await _forward(api, call)


async def _forward(api: Api, call: Call, *, upgrade: bool = False) -> Answer:
    pod = found(api, call).obj()
    node = node_of(api, call, pod)
    if upgrade and not call.request.wants_upgrade:
        raise bad_request("Upgrade request required")
    path = [AGENT_PATHS[call.subresource], call.namespace, call.name]
    if call.subresource != "portforward":
        path.append(container_of(call, pod))
    pairs = [(name, value) for name, value in call.request.query_pairs() if name != "container"]
    target = "/" + "/".join(quote(part, safe="") for part in path)
    if pairs:
        target += "?" + urlencode(pairs)
    return await api.nodes.forward(node, call.request.method, target, call.request.headers)


def node_of(api: Api, call: Call, pod: Obj) -> Obj:
    name = pod["spec"].get("nodeName", "")
    if not name:
        raise StatusError(400, "BadRequest", f"pod {call.name} does not have a host assigned")
    entry = api.store.bucket(NODES).entries.get(name)
    if entry is None:
        raise not_found(NODES, name)
    return entry.obj()


def container_of(call: Call, pod: Obj) -> str:
    names = [container["name"] for container in pod["spec"]["containers"]]
    wanted = call.params.get("container") or (pod["metadata"].get("annotations") or {}).get(DEFAULT_CONTAINER)
    if not wanted:
        if len(names) > 1 and call.subresource == "log":
            raise bad_request(
                f"a container name must be specified for pod {call.name}, choose one of: [{' '.join(names)}]"
            )
        return str(names[0])
    initial = [container["name"] for container in pod["spec"].get("initContainers") or ()]
    if wanted not in names + initial:
        raise bad_request(f"container {wanted} is not valid for {PODS.singular} {call.name}")
    return wanted
