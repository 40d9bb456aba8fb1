"""Two API servers on one etcd: each sees the other's writes, allocations and watches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from fairway.api.resources import CONFIG_MAPS, SERVICES
from fairway.client import Client, Informer, Invalid, KubeConfig
from tests.conformance.server import ApiServer, api_server
from tests.unit.storage.etcd_process import etcd


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApiServer, ApiServer]]:
    with ExitStack() as stack:
        address = stack.enter_context(etcd())
        first, second = (
            stack.enter_context(api_server(tmp_path_factory.mktemp(name), "--store", f"etcd://{address}"))
            for name in ("first", "second")
        )
        yield first, second


def client(server: ApiServer) -> Client:
    return Client(KubeConfig.load(server.kubeconfig))


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}], **spec},
    }


async def test_a_write_to_one_is_seen_by_a_watch_on_the_other(servers: tuple[ApiServer, ApiServer]) -> None:
    async with client(servers[0]) as one, client(servers[1]) as other:
        informer = Informer(other, CONFIG_MAPS, type=dict, namespace="default")
        seen: asyncio.Queue[str] = asyncio.Queue()
        informer.on_change(
            lambda key, old, new: seen.put_nowait(f"{key} {new['data']['a'] if new else None}")
        )
        following = asyncio.create_task(informer.run())
        await informer.synced()
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}}
        await one.create(CONFIG_MAPS, made, namespace="default")
        await one.patch(CONFIG_MAPS, "m", {"data": {"a": "2"}}, namespace="default", kind="merge")
        await one.delete(CONFIG_MAPS, "m", namespace="default")
        wanted = ["default/m 1", "default/m 2", "default/m None"]
        found = []
        while len(found) < len(wanted):
            event = await asyncio.wait_for(seen.get(), 30)
            if event.startswith("default/m "):
                found.append(event)
        assert found == wanted
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_what_was_written_through_one_is_read_through_the_other_at_once(
    servers: tuple[ApiServer, ApiServer],
) -> None:
    async with client(servers[0]) as one, client(servers[1]) as other:
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "turn"}, "data": {"n": "0"}}
        await one.create(CONFIG_MAPS, made, namespace="default")
        for number in range(1, 101):
            writer, reader = (one, other) if number % 2 else (other, one)
            patch = {"data": {"n": str(number)}}
            await writer.patch(CONFIG_MAPS, "turn", patch, namespace="default", kind="merge")
            read = await reader.get(CONFIG_MAPS, "turn", namespace="default")
            assert read["data"]["n"] == str(number)
        await one.delete(CONFIG_MAPS, "turn", namespace="default")
        listed = await other.list(CONFIG_MAPS, namespace="default")
        assert "turn" not in {each["metadata"]["name"] for each in listed.items}


async def test_of_many_that_want_one_address_through_either_server_one_gets_it(
    servers: tuple[ApiServer, ApiServer],
) -> None:
    async with client(servers[0]) as one, client(servers[1]) as other:
        wanted = [
            (one, other)[number % 2].create(
                SERVICES, service(f"racer-{number}", clusterIP="10.96.77.7"), namespace="default"
            )
            for number in range(32)
        ]
        outcomes = await asyncio.gather(*wanted, return_exceptions=True)
        assert not [repr(outcome) for outcome in outcomes if not isinstance(outcome, dict | Invalid)]
        winners = [outcome for outcome in outcomes if isinstance(outcome, dict)]
        losers = [outcome for outcome in outcomes if isinstance(outcome, Invalid)]
        assert (len(winners), len(losers)) == (1, 31)
        assert all("provided IP is already allocated" in str(loser) for loser in losers)


async def test_services_made_through_both_at_once_never_share_an_address(
    servers: tuple[ApiServer, ApiServer],
) -> None:
    async with client(servers[0]) as one, client(servers[1]) as other:
        made = await asyncio.gather(
            *(
                (one, other)[number % 2].create(SERVICES, service(f"many-{number}"), namespace="default")
                for number in range(100)
            )
        )
        assert len({each["spec"]["clusterIP"] for each in made}) == 100


async def test_everything_is_there_after_a_restart(servers: tuple[ApiServer, ApiServer]) -> None:
    async with client(servers[0]) as one:
        await one.create(SERVICES, service("kept"), namespace="default")
    servers[1].kill()
    servers[1].start()
    async with client(servers[1]) as other:
        assert (await other.get(SERVICES, "kept", namespace="default"))["metadata"]["name"] == "kept"
