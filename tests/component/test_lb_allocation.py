"""The allocating part against a real API server: addresses in status, conditions, Events, finalizers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from fairway.api.resources import CONFIG_MAPS, EVENTS, SERVICES
from fairway.client import Client, KubeConfig, NotFound
from fairway.lb.config import Config
from fairway.lb.objects import CONDITION, FINALIZER
from fairway.lb.run import run
from tests.conformance.server import ApiServer, api_server

POOLS = "address-pools: [{{name: p, protocol: layer2, addresses: [10.0.0.1-10.0.0.{last}]}}]"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    flags = ("--service-cluster-ip-range", "10.96.0.0/16,fd00:96::/112")
    with api_server(tmp_path_factory.mktemp("server"), *flags) as started:
        yield started


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    async with Client(KubeConfig.load(server.kubeconfig), component="test") as opened:
        yield opened
        for service in (await opened.list(SERVICES, namespace="default")).items:
            if service["metadata"]["name"] != "kubernetes":
                free = {"metadata": {"finalizers": None}}
                await opened.patch(SERVICES, service["metadata"]["name"], free, namespace="default")
                with contextlib.suppress(NotFound):
                    await opened.delete(SERVICES, service["metadata"]["name"], namespace="default")


@contextlib.asynccontextmanager
async def allocating(server: ApiServer) -> AsyncIterator[None]:
    config = Config(kubeconfig=server.kubeconfig, speaker=False, leader_elect=False)
    task = asyncio.create_task(run(config))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def pools(client: Client, last: int) -> None:
    meta = {"name": "fairway-lb", "namespace": "kube-system"}
    data = {"config": POOLS.format(last=last)}
    try:
        await client.patch(CONFIG_MAPS, "fairway-lb", {"data": data}, namespace="kube-system")
    except NotFound:
        await client.create(CONFIG_MAPS, {"metadata": meta, "data": data})


async def create(client: Client, name: str, **spec: Any) -> None:
    whole = {"type": "LoadBalancer", "ports": [{"port": 80}]} | spec
    meta = {"name": name, "namespace": "default"}
    await client.create(SERVICES, {"metadata": meta, "spec": whole})


async def seen(client: Client, name: str) -> dict[str, Any]:
    return await client.get(SERVICES, name, namespace="default")


async def address(client: Client, name: str) -> str:
    ingress = (await seen(client, name)).get("status", {}).get("loadBalancer", {}).get("ingress") or [{}]
    return str(ingress[0].get("ip", ""))


async def condition(client: Client, name: str) -> dict[str, Any]:
    found = (await seen(client, name)).get("status", {}).get("conditions") or []
    return next((c for c in found if c["type"] == CONDITION), {})


async def eventually(check: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(30):
        while not await check():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_service_gets_an_address_a_condition_an_event_and_the_finalizer(
    server: ApiServer, client: Client
) -> None:
    await pools(client, 3)
    async with allocating(server):
        await create(client, "web", allocateLoadBalancerNodePorts=False)
        await eventually(lambda: address(client, "web"))
        service = await seen(client, "web")
        assert service["status"]["loadBalancer"]["ingress"] == [{"ip": "10.0.0.1", "ipMode": "VIP"}]
        assert service["metadata"]["finalizers"] == [FINALIZER]
        assert (await condition(client, "web"))["status"] == "True"

        async def told() -> bool:
            events = await client.list(EVENTS, namespace="default")
            return any(event["reason"] == "AddressAssigned" for event in events.items)

        await eventually(told)


async def test_who_waits_is_served_when_something_is_freed_or_the_pool_grows(
    server: ApiServer, client: Client
) -> None:
    await pools(client, 1)
    async with allocating(server):
        for name in ("a", "b", "c"):
            await create(client, name)
            await eventually(lambda name=name: condition(client, name))
        assert (await condition(client, "b"))["reason"] == "NoAddressFree"
        await client.delete(SERVICES, "a", namespace="default")
        await eventually(lambda: address(client, "b"))
        with pytest.raises(NotFound):
            await seen(client, "a")
        assert await address(client, "c") == ""
        await pools(client, 2)
        await eventually(lambda: address(client, "c"))
        assert (await condition(client, "c"))["status"] == "True"


async def test_addresses_stay_over_a_restart(server: ApiServer, client: Client) -> None:
    await pools(client, 9)
    async with allocating(server):
        for number in (1, 2, 3):
            await create(client, f"s{number}")
            await eventually(lambda number=number: address(client, f"s{number}"))
    before = [await address(client, f"s{number}") for number in (1, 2, 3)]
    await create(client, "a-first-by-name")
    async with allocating(server):
        await eventually(lambda: address(client, "a-first-by-name"))
        assert [await address(client, f"s{number}") for number in (1, 2, 3)] == before
    assert len({*before, await address(client, "a-first-by-name")}) == 4


async def test_many_services_at_once_never_share_an_address_by_accident(
    server: ApiServer, client: Client
) -> None:
    await pools(client, 60)
    async with allocating(server):
        await asyncio.gather(*(create(client, f"many-{number}") for number in range(40)))
        for number in range(40):
            await eventually(lambda number=number: address(client, f"many-{number}"))
    assert len({await address(client, f"many-{number}") for number in range(40)}) == 40


async def test_another_type_gives_the_address_back_and_foreign_classes_are_left_alone(
    server: ApiServer, client: Client
) -> None:
    await pools(client, 3)
    async with allocating(server):
        await create(client, "foreign", loadBalancerClass="example.com/other")
        await create(client, "web")
        await eventually(lambda: address(client, "web"))
        await client.patch(SERVICES, "web", {"spec": {"type": "ClusterIP"}}, namespace="default")

        async def released() -> bool:
            service = await seen(client, "web")
            gone = not service["status"].get("loadBalancer") and not service["status"].get("conditions")
            return gone and not service["metadata"].get("finalizers")

        await eventually(released)
        foreign = await seen(client, "foreign")
        assert not foreign["metadata"].get("finalizers")
        assert not foreign["status"].get("conditions")


async def test_pools_that_cannot_be_read_leave_everything_as_it_was(
    server: ApiServer, client: Client
) -> None:
    await pools(client, 3)
    async with allocating(server):
        await create(client, "web")
        await eventually(lambda: address(client, "web"))
        broken = {"data": {"config": "address-pools: [{name: p, protocol: bgp, addresses: [10.0.0.0/8]}]"}}
        await client.patch(CONFIG_MAPS, "fairway-lb", broken, namespace="kube-system")

        async def told() -> bool:
            events = await client.list(EVENTS, namespace="kube-system")
            return any("only layer2" in event["message"] for event in events.items)

        await eventually(told)
        assert await address(client, "web") == "10.0.0.1"


async def test_dual_stack_services_get_an_address_of_each_family(server: ApiServer, client: Client) -> None:
    both = "address-pools: [{name: p, addresses: [10.0.0.0/24, 'fd00:1::/120']}]"
    await pools(client, 3)
    await client.patch(CONFIG_MAPS, "fairway-lb", {"data": {"config": both}}, namespace="kube-system")
    async with allocating(server):
        await create(client, "web", ipFamilyPolicy="RequireDualStack")
        await eventually(lambda: address(client, "web"))
        points = (await seen(client, "web"))["status"]["loadBalancer"]["ingress"]
        assert [point["ip"] for point in points] == ["10.0.0.0", "fd00:1::"]
