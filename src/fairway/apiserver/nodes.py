"""The one call the API server makes itself: to a node's agent, over mutually authenticated TLS.

For logs, exec, attach, port-forward and nodes/proxy.
"""

from __future__ import annotations

import ssl
from typing import Any

import httptools

from fairway.api.errors import StatusError, unavailable
from fairway.apiserver.forward import Backend, forward
from fairway.httpserver.messages import Answer

Obj = dict[str, Any]


class NodeConnector:
    """Reaches node agents with the API server's own certificate."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls

    async def forward(
        self, node: Obj, method: str, target: str, headers: dict[str, str], body: bytes = b""
    ) -> Answer:
        """Pass a request on to the node's agent and pass back whatever it answers."""
        backend = Backend(*agent_address(node), self._tls)
        try:
            return await forward(backend, method, target, headers, body)
        except (OSError, TimeoutError, EOFError, httptools.HttpParserError) as error:
            name = node["metadata"]["name"]
            why = str(error) or type(error).__name__
            raise unavailable(f"error dialing backend: node {name} at {backend}: {why}") from error


def agent_address(node: Obj) -> tuple[str, int]:
    status = node.get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
    addresses = {a.get("type"): a.get("address") for a in status.get("addresses") or ()}
    address = addresses.get("InternalIP") or addresses.get("Hostname")
    if not address or not port:
        message = f"node {node['metadata']['name']} has not said where its agent listens"
        raise StatusError(503, "ServiceUnavailable", message)
    return str(address), int(port)
