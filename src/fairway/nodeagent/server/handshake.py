"""How a client and the agent agree on a protocol for streams: WebSocket or SPDY/3.1, and which version."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fairway.api.errors import StatusError, bad_request
from fairway.httpserver import Request, Tunnel, Upgrade
from fairway.nodeagent.server.conversation import Conversation
from fairway.nodeagent.server.spdy_conversation import SpdyConversation
from fairway.nodeagent.server.websocket import accept_headers
from fairway.nodeagent.server.websocket_conversation import WebSocketConversation

SPDY = "SPDY/3.1"
STREAM_VERSION = "x-stream-protocol-version"
CHANNELS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
SPDY_CHANNELS = ("v4.channel.k8s.io",)

Talk = Callable[[Tunnel], Awaitable[None]]


def is_websocket(request: Request) -> bool:
    return request.headers.get("upgrade", "").lower() == "websocket"


def is_spdy(request: Request) -> bool:
    return request.headers.get("upgrade", "").lower() == SPDY.lower()


def offered(request: Request) -> list[str]:
    name = "sec-websocket-protocol" if is_websocket(request) else STREAM_VERSION
    return [part.strip() for part in request.headers.get(name, "").split(",") if part.strip()]


def choose(request: Request, known: Sequence[str]) -> str:
    """The best one that both sides know; 403 as Kubernetes has it if there is none."""
    theirs = offered(request)
    chosen = next((name for name in known if name in theirs), None)
    if chosen is None:
        message = f"unable to upgrade: the client speaks {theirs or 'no protocol'}, the server {list(known)}"
        raise StatusError(403, "Forbidden", message)
    return chosen


def websocket_upgrade(request: Request, protocol: str, talk: Talk) -> Upgrade:
    key = request.headers.get("sec-websocket-key", "")
    if not key:
        raise bad_request("a WebSocket needs the header Sec-WebSocket-Key")
    return Upgrade(talk, accept_headers(key, protocol))


def spdy_upgrade(protocol: str, talk: Talk) -> Upgrade:
    return Upgrade(
        talk, (("Connection", "Upgrade"), ("Upgrade", SPDY), ("X-Stream-Protocol-Version", protocol))
    )


def conversation(request: Request, talk: Callable[[Conversation], Awaitable[None]]) -> Upgrade:
    """For exec and attach."""
    if is_websocket(request):
        protocol = choose(request, CHANNELS)
        return websocket_upgrade(request, protocol, lambda tunnel: talk(WebSocketConversation(tunnel)))
    if is_spdy(request):
        return spdy_upgrade(choose(request, SPDY_CHANNELS), lambda tunnel: talk(SpdyConversation(tunnel)))
    raise bad_request("streams need an upgrade to WebSocket or to SPDY/3.1")
