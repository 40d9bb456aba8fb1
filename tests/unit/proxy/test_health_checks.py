"""Health-check node ports: what is told, and when ports are open."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from fairway.proxy.changes import PortState, Tracker
from fairway.proxy.health_checks import Check, HealthChecks, answer, check_of
from fairway.proxy.topology import Place

from .objects import endpoint, endpoint_slice, service


def states(*endpoints: dict[str, Any], **spec: Any) -> tuple[PortState, ...]:
    local = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000}
    tracker = Tracker(Place("n1"))
    tracker.service_changed("default/web", None, service(**(local | spec)))
    tracker.slice_changed("default/web-1", None, endpoint_slice(endpoints))
    return tracker.take()["default/web"]


def test_ready_endpoints_of_this_node_are_counted() -> None:
    known = states(
        endpoint("10.244.1.1", "n1"),
        endpoint("10.244.1.2", "n1"),
        endpoint("10.244.1.3", "n1", ready=False, serving=True, terminating=True),
        endpoint("10.244.2.1", "n2"),
    )
    assert check_of(known) == Check(31000, 2)


def test_endpoints_that_are_going_away_attract_no_new_traffic() -> None:
    going = endpoint("10.244.1.3", "n1", ready=False, serving=True, terminating=True)
    assert check_of(states(going)) == Check(31000, 0)


def test_endpoints_are_counted_before_the_balancer_has_an_address_and_without_node_ports() -> None:
    assert check_of(states(endpoint("10.244.1.1", "n1"), nodePort=0)) == Check(31000, 1)


def test_without_policy_local_or_a_balancer_there_is_no_check() -> None:
    assert check_of(states(externalTrafficPolicy="Cluster")) is None
    assert check_of(states(type="NodePort")) is None
    assert check_of(()) is None


def test_the_answer_is_that_of_kube_proxy() -> None:
    good = answer("default/web", 2, True)
    assert good.status == 200
    assert msgspec.json.decode(good.body) == {
        "service": {"namespace": "default", "name": "web"},
        "localEndpoints": 2,
        "serviceProxyHealthy": True,
    }
    assert dict(good.headers) == {
        "X-Content-Type-Options": "nosniff",
        "X-Load-Balancing-Endpoint-Weight": "2",
    }
    assert answer("default/web", 0, True).status == 503
    assert answer("default/web", 2, False).status == 503


@asynccontextmanager
async def running(addresses: list[str] | None) -> AsyncIterator[HealthChecks]:
    checks = HealthChecks(lambda: True, lambda: addresses)
    task = asyncio.create_task(checks.run())
    try:
        async with asyncio.timeout(30):
            yield checks
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def status(port: int) -> int:
    """0 if nobody listens."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return 0
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    line = await reader.readline()
    writer.close()
    return int(line.split()[1])


async def until(check: Callable[[], Any]) -> None:
    while not await check():  # noqa: ASYNC110  (what is waited for is outside this process's loop)
        await asyncio.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def is_told(port: int, expected: int) -> bool:
    return await status(port) == expected


async def test_a_port_opens_changes_and_closes_with_its_service() -> None:
    port, other = free_port(), free_port()
    async with running(["127.0.0.1"]) as checks:
        checks.take({"default/web": states(healthCheckNodePort=port)})
        await until(lambda: is_told(port, 503))
        checks.take({"default/web": states(endpoint("10.244.1.1", "n1"), healthCheckNodePort=port)})
        await until(lambda: is_told(port, 200))
        checks.take({"default/web": states(healthCheckNodePort=other)})
        await until(lambda: is_told(other, 503))
        assert await status(port) == 0
        checks.take({"default/web": ()})
        await until(lambda: is_told(other, 0))


async def test_a_port_that_someone_else_has_is_served_once_it_is_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = int(taken.getsockname()[1])
        async with running(["127.0.0.1"]) as checks:
            checks.take({"default/web": states(healthCheckNodePort=port)})
            await asyncio.sleep(0)
            taken.close()
            await until(lambda: is_told(port, 503))
