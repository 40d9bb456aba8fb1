"""Health-check node ports asked over HTTP, from everywhere, while the proxies are there."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import uvloop

from fairway.kernel import namespaces
from fairway.proxy.health_checks import HealthChecks
from fairway.proxy.programming import Changes
from tests.behaviour.health import CLOSED, HEALTH, HERE, MOVED_TO, MOVING, STEPS, HealthCase, step_name
from tests.behaviour.places import OUTSIDE
from tests.behaviour.services import SERVICES, Behind

from .fleet import Fleet, NodeProxy
from .packets import opened
from .world import World

PATIENCE = 20.0
# A server that goes between the connection and the question.
CLOSING = -1


class HealthServer:
    """The servers of one node, in a loop that stays in the node's namespace, told what the proxy is told."""

    def __init__(self, built: World, proxy: NodeProxy) -> None:
        self._proxy = proxy
        self._path = built.nodes[proxy.node].namespace.path
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.wait()
        proxy.programmed.append(self._take)
        self._take(proxy.states)

    def close(self) -> None:
        self._proxy.programmed.remove(self._take)
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _take(self, changes: Changes) -> None:
        self._loop.call_soon_threadsafe(self._checks.take, dict(changes))

    def _run(self) -> None:
        namespaces.enter_path(self._path)
        # As the proxy does. Python 3.11's own loop forgets connections that come while a server closes.
        uvloop.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        self._checks = HealthChecks(lambda: True, lambda: None)
        serving = asyncio.create_task(self._checks.run())
        self._started.set()
        await self._ended.wait()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving


def health(built: World, proxies: Fleet) -> Iterator[tuple[str, str]]:
    with contextlib.ExitStack() as stack:
        for proxy in proxies.proxies:
            stack.callback(HealthServer(built, proxy).close)
        for case in HEALTH:
            yield case.name, _judge(built, case)
        given = SERVICES[MOVING]
        moved, deleted = STEPS.items()
        proxies.put(replace(given, endpoints=tuple(Behind(pod) for pod in MOVED_TO)))
        yield from ((step_name(case, moved[0]), _judge(built, case)) for case in moved[1])
        proxies.delete(given)
        yield from ((step_name(case, deleted[0]), _judge(built, case)) for case in deleted[1])
        proxies.put(given)


def _judge(built: World, case: HealthCase) -> str:
    """Servers open, change and close a moment after the rules are in force: until then, ask again."""
    wanted = (case.row.status, case.row.endpoints)
    where, deadline = built.clients[case.row.client].path, time.monotonic() + PATIENCE
    while (found := namespaces.run_inside(where, lambda: _ask(case))) != wanted:
        if time.monotonic() > deadline:
            return f"status {found[0]} and {found[1]} endpoints, not {wanted[0]} and {wanted[1]}"
    return ""


def _ask(case: HealthCase) -> tuple[int, int]:
    """Status and endpoints."""
    source = case.source if case.row.client in OUTSIDE else ""
    connection = http.client.HTTPConnection(*case.destination)
    try:
        with opened("tcp", *case.destination, source, PATIENCE) as connection.sock:
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            told = json.loads(answer.read())
    except ConnectionRefusedError:
        return CLOSED, 0
    except ConnectionResetError:
        return CLOSING, 0
    if told["service"] != {"namespace": "default", "name": case.row.service}:
        raise AssertionError(f"that is another Service: {told}")
    if answer.getheader("X-Load-Balancing-Endpoint-Weight") != str(told["localEndpoints"]):
        raise AssertionError(f"the header says otherwise than the body: {told}")
    assert (answer.status == HERE) == bool(told["localEndpoints"])
    return answer.status, told["localEndpoints"]
