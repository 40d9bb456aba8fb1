"""Subresources that are more than a part of the object: one file each, listed in one table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from fairway.api.resources import NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, SERVICES
from fairway.apiserver.api import Api
from fairway.apiserver.call import Call
from fairway.apiserver.subresources.binding import bind
from fairway.apiserver.subresources.ephemeral_containers import ephemeral_containers
from fairway.apiserver.subresources.eviction import evict
from fairway.apiserver.subresources.finalize import finalize
from fairway.apiserver.subresources.node_connection import logs, streams
from fairway.apiserver.subresources.proxy import proxy
from fairway.apiserver.subresources.scale import scale
from fairway.apiserver.subresources.token import request_token
from fairway.httpserver.messages import Answer

Subresource = Callable[[Api, Call], Awaitable[Answer]]

SUBRESOURCES: Mapping[tuple[str, str], Subresource] = {
    (PODS.qualified, "binding"): bind,
    (PODS.qualified, "ephemeralcontainers"): ephemeral_containers,
    (PODS.qualified, "eviction"): evict,
    (PODS.qualified, "attach"): streams,
    (PODS.qualified, "exec"): streams,
    (PODS.qualified, "portforward"): streams,
    (PODS.qualified, "log"): logs,
    (PODS.qualified, "proxy"): proxy,
    (SERVICES.qualified, "proxy"): proxy,
    (NODES.qualified, "proxy"): proxy,
    (NAMESPACES.qualified, "finalize"): finalize,
    (SERVICE_ACCOUNTS.qualified, "token"): request_token,
}


def subresource_of(call: Call) -> Subresource | None:
    if call.subresource == "scale" and call.kind.scale:
        return scale
    return SUBRESOURCES.get((call.kind.resource.qualified, call.subresource))
