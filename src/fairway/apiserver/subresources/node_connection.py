"""pods/exec, attach, portforward and log: passed on to the agent of the node where the Pod runs."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from fairway.api.errors import bad_request, not_found
from fairway.api.kind import Obj
from fairway.api.kinds.pod.log_options import validate_log_options
from fairway.api.resources import NODES, PODS
from fairway.api.validation.fields import invalid
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.verbs.get import found
from fairway.httpserver import Response
from fairway.httpserver.messages import Answer

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
PARTS = ("initContainers", "containers", "ephemeralContainers")
# What the agent calls them, after kubelet.
AGENT_PATHS = {"exec": "exec", "attach": "attach", "portforward": "portForward", "log": "containerLogs"}


async def streams(api: Api, call: Call) -> Answer:
    pod = found(api, call).obj()
    container = container_of(call, pod) if call.subresource != "portforward" else ""
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {call.name} does not have a host assigned")
    node = node_of(api, pod)
    if not call.request.wants_upgrade:
        raise bad_request("Upgrade request required")
    return await _forward(api, call, node, container)


async def logs(api: Api, call: Call) -> Answer:
    """A Pod that no node runs has nothing to show, which is no error."""
    if errors := validate_log_options(call.params):
        raise invalid("PodLogOptions", "", call.name, errors)
    pod = found(api, call).obj()
    container = container_of(call, pod)
    if not pod["spec"].get("nodeName"):
        return Response(204, b"")
    return await _forward(api, call, node_of(api, pod), container)


async def _forward(api: Api, call: Call, node: Obj, container: str) -> Answer:
    path = [AGENT_PATHS[call.subresource], call.namespace, call.name]
    if container:
        path.append(container)
    pairs = [(name, value) for name, value in call.request.query_pairs() if name != "container"]
    target = "/" + "/".join(quote(part, safe="") for part in path)
    if pairs:
        target += "?" + urlencode(pairs)
    return await api.nodes.forward(node, call.request.method, target, call.request.headers)


def node_of(api: Api, pod: Obj) -> Obj:
    name = pod["spec"]["nodeName"]
    entry = api.store.bucket(NODES).entries.get(name)
    if entry is None:
        raise not_found(NODES, name)
    return entry.obj()


def container_of(call: Call, pod: Obj) -> str:
    """The one that is meant: as asked, as the Pod says, or the only one there is."""
    spec = pod["spec"]
    annotations = pod["metadata"].get("annotations") or {}
    wanted = call.params.get("container") or annotations.get(DEFAULT_CONTAINER, "")
    names = [each["name"] for part in PARTS for each in spec.get(part) or ()]
    if wanted and wanted not in names:
        raise bad_request(f"container {wanted} is not valid for {PODS.singular} {call.name}")
    if not wanted and len(spec["containers"]) > 1:
        choice = f"choose one of: [{' '.join(names)}]"
        raise bad_request(f"a container name must be specified for pod {call.name}, {choice}")
    return str(wanted or spec["containers"][0]["name"])
