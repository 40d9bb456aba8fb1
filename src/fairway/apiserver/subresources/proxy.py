"""pods/proxy, services/proxy and nodes/proxy: the API server as a way in to what runs in the cluster.

Names may carry a scheme and a port: `[SCHEME:]NAME[:PORT]`; a Service's port may be a name.
"""

from __future__ import annotations

import random
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import httptools

from fairway.api.errors import StatusError, bad_request, not_found
from fairway.api.kind import Obj
from fairway.api.resources import ENDPOINT_SLICES, NODES, PODS, SERVICES
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.forward import Backend, forward
from fairway.apiserver.link_rewriting import rewrite_links, rewritten_url
from fairway.httpserver import Response, Stream
from fairway.httpserver.messages import Answer, Headers

LARGEST_PAGE = 16 * 1024 * 1024
SERVICE_NAME = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class Target:
    scheme: str
    name: str
    port: str


def parse_target(text: str) -> Target:
    parts = unquote(text).split(":")
    if len(parts) == 1:
        return Target("http", parts[0], "")
    if len(parts) == 2:
        return Target("http", parts[0], parts[1])
    if len(parts) == 3 and parts[0] in ("http", "https", ""):
        return Target(parts[0] or "http", parts[1], parts[2])
    raise bad_request(f'invalid {"request"} "{text}": use [SCHEME:]NAME[:PORT]')


async def proxy(api: Api, call: Call) -> Answer:
    if not call.rest and call.request.method in ("GET", "HEAD"):
        return _to_slash(call)
    target = parse_target(call.name)
    resource = call.kind.resource
    if resource == NODES and not target.port:
        return await _to_node(api, call, target)
    if resource == PODS:
        host, port = pod_address(_found(api, call, target.name), target)
    elif resource == SERVICES:
        host, port = service_address(api, call.namespace, target)
    else:
        host, port = node_address(_found(api, call, target.name)), _number(target.port)
    backend = Backend(host, port, _unverified() if target.scheme == "https" else None)
    return await _through(backend, call)


def _to_slash(call: Call) -> Response:
    """Relative links of a page at `/proxy` would lead beside it."""
    query = f"?{call.request.query_string}" if call.request.query_string else ""
    return Response(301, b"", "", (("Location", f"{call.request.raw_path}/{query}"),))


async def _to_node(api: Api, call: Call, target: Target) -> Answer:
    node = _found(api, call, target.name)
    request = call.request
    answer = await api.nodes.forward(node, request.method, _path(call), request.headers, request.body)
    return await _seen_through(answer, _prefix(call))


async def _through(backend: Backend, call: Call) -> Answer:
    request = call.request
    headers = {**request.headers, "x-forwarded-uri": _prefix(call) + call.rest}
    headers["x-forwarded-for"] = request.peer.address
    try:
        answer = await forward(backend, request.method, _path(call), headers, request.body)
    except (OSError, TimeoutError, EOFError, httptools.HttpParserError) as error:
        why = getattr(error, "strerror", None) or str(error) or "timed out"
        message = f"error trying to reach service: dial tcp {backend}: {why}"
        raise StatusError(503, "ServiceUnavailable", message) from error
    return await _seen_through(answer, _prefix(call))


def _path(call: Call) -> str:
    query = f"?{call.request.query_string}" if call.request.query_string else ""
    return (call.rest or "/") + query


def _prefix(call: Call) -> str:
    """The path of the proxy itself, as it was requested."""
    path = call.request.raw_path
    return path[: len(path) - len(call.rest)]


async def _seen_through(answer: Answer, prefix: str) -> Answer:
    """Links and redirections to absolute paths lead through the proxy."""
    if isinstance(answer, Response | Stream):
        answer.headers = _relocated(answer.headers, prefix)
        if answer.content_type.partition(";")[0].strip() == "text/html":
            return await _rewritten(answer, prefix)
    return answer


def _relocated(headers: Headers, prefix: str) -> Headers:
    return tuple(
        (
            name,
            rewritten_url(value.encode(), prefix.encode()).decode() if name.lower() == "location" else value,
        )
        for name, value in headers
    )


async def _rewritten(answer: Response | Stream, prefix: str) -> Response:
    body = answer.body if isinstance(answer, Response) else await _whole(answer)
    return Response(answer.status, rewrite_links(body, prefix), answer.content_type, answer.headers)


async def _whole(answer: Stream) -> bytes:
    parts, size = [], 0
    async for chunk in answer.chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > LARGEST_PAGE:
            raise StatusError(502, "InternalError", "the page is too large to rewrite its links")
    return b"".join(parts)


# -- whom a name means -----------------------------------------------------------------------------------


def _found(api: Api, call: Call, name: str) -> Obj:
    resource = call.kind.resource
    key = f"{call.namespace}/{name}" if resource.namespaced else name
    entry = api.store.bucket(resource).entries.get(key)
    if entry is None:
        raise not_found(resource, name)
    return entry.obj()


def pod_address(pod: Obj, target: Target) -> tuple[str, int]:
    """A Pod's default port is the first one it declares, else 80."""
    address = (pod.get("status") or {}).get("podIP")
    if not address:
        raise StatusError(503, "ServiceUnavailable", f"pod {target.name} does not have an address yet")
    if target.port:
        return address, _number(target.port)
    ports = [port for container in pod["spec"]["containers"] for port in container.get("ports") or ()]
    return address, int(ports[0]["containerPort"]) if ports else 80


def node_address(node: Obj) -> str:
    addresses = (node.get("status") or {}).get("addresses") or ()
    found = next((a["address"] for a in addresses if a["type"] == "InternalIP"), "")
    if not found:
        raise StatusError(503, "ServiceUnavailable", f"node {node['metadata']['name']} has no address")
    return str(found)


def service_address(api: Api, namespace: str, target: Target) -> tuple[str, int]:
    """A ready endpoint of the Service, at random."""
    entry = api.store.bucket(SERVICES).entries.get(f"{namespace}/{target.name}")
    names = port_names(entry.obj(), target.port) if entry else set()
    candidates = list(ready_endpoints(api, namespace, target.name, names))
    if not candidates:
        message = f'no endpoints available for service "{target.name}"'
        raise StatusError(503, "ServiceUnavailable", message)
    return random.choice(candidates)


def port_names(service: Obj, wanted: str) -> set[str]:
    """The names of the Service's ports that are meant: by name, by number, or the only one there is."""
    ports = service["spec"].get("ports") or []
    if not wanted:
        return {port.get("name", "") for port in ports} if len(ports) == 1 else set()
    return {port.get("name", "") for port in ports if wanted in (port.get("name"), str(port["port"]))}


def ready_endpoints(api: Api, namespace: str, service: str, names: set[str]) -> Iterator[tuple[str, int]]:
    for entry in api.store.bucket(ENDPOINT_SLICES).in_order(namespace):
        if entry.labels.get(SERVICE_NAME) != service:
            continue
        slice_ = entry.obj()
        for port in slice_.get("ports") or ():
            if port.get("name", "") in names and port.get("port"):
                for endpoint in slice_.get("endpoints") or ():
                    if (endpoint.get("conditions") or {}).get("ready", True):
                        yield endpoint["addresses"][0], port["port"]


def _number(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise bad_request(f'"{text}" is not a port')
    return int(text)


def _unverified() -> ssl.SSLContext:
    """What stands behind https in the cluster rarely has a certificate anyone could verify."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
