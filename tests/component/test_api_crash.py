"""The API server is killed again and again while clients write: nothing acknowledged is lost, nothing leaks.

FAIRWAY_CRASHES sets how often (50 unless told).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.component.clients import Clients, at_once, connected, service
from tests.component.crash_witnesses import SERVICES, Watcher, Writer
from tests.conformance.server import ApiServer, api_server

CRASHES = int(os.environ.get("FAIRWAY_CRASHES", "50"))
WRITERS = 12
PORTS = 64
ADDRESSES = 126 - 1  # a /25 less its two ends and what default/kubernetes holds
RANGES = (
    "--service-cluster-ip-range",
    "10.96.0.0/25",
    "--service-node-port-range",
    f"30000-{30000 + PORTS - 1}",
)


@pytest.fixture
async def clients(tmp_path: Path) -> AsyncIterator[Clients]:
    """Of a server whose ranges are so small that leaks would use them up."""
    with api_server(tmp_path, *RANGES) as server:
        async with connected(server, WRITERS + 4) as ready:
            ready.session._retry_connection = False  # a request sent twice could be acknowledged wrongly
            yield ready


async def crash(server: ApiServer, chance: random.Random) -> None:
    """Kill it under load; now and then once more while it is starting."""
    await asyncio.sleep(chance.uniform(0.05, 0.35))
    server.kill()
    if chance.random() < 0.3:
        with contextlib.suppress(RuntimeError):
            starting = asyncio.create_task(asyncio.to_thread(server.start))
            await asyncio.sleep(chance.uniform(0.05, 0.6))
            server.kill()
            await starting
        server.kill()
    await asyncio.to_thread(server.start)


@pytest.mark.timeout(60 + 10 * CRASHES)
async def test_nothing_acknowledged_is_lost_and_nothing_leaks_however_often_it_is_killed(
    clients: Clients,
) -> None:
    chance = random.Random(7)
    watcher = Watcher(clients)
    writers = [Writer(clients, f"w{number}", random.Random(number)) for number in range(WRITERS)]
    await watcher.begin()
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(watcher.run())
        writing = [tasks.create_task(writer.run()) for writer in writers]
        for _ in range(CRASHES):
            await crash(clients.api_server, chance)
        for writer in writers:
            writer.stop()
        await asyncio.wait(writing)
        await watcher.caught_up()
        watching.cancel()

    await acknowledged_is_there(clients, writers)
    assert watcher.seen == await watcher.history()
    await held_once(clients)
    await whole_ranges_can_be_had_again(clients)
    assert sum(writer.acknowledged for writer in writers) > CRASHES


async def acknowledged_is_there(clients: Clients, writers: list[Writer]) -> None:
    found = {obj["metadata"]["name"]: obj for obj in await clients.items(SERVICES)}
    found.pop("kubernetes")
    wanted = {name: state for writer in writers for name, state in writer.known.items()}
    assert {name: obj["metadata"]["annotations"]["state"] for name, obj in found.items()} == wanted


async def held_once(clients: Clients) -> None:
    services = await clients.items("/api/v1/services")
    held = [(ip, obj["metadata"]["name"]) for obj in services for ip in obj["spec"].get("clusterIPs", ())]
    allocated = await clients.items("/apis/networking.k8s.io/v1/ipaddresses")
    assert sorted(held) == sorted(
        (obj["metadata"]["name"], obj["spec"]["parentRef"]["name"]) for obj in allocated
    )
    ports = [port["nodePort"] for obj in services for port in obj["spec"]["ports"] if "nodePort" in port]
    assert len(ports) == len(set(ports))


async def whole_ranges_can_be_had_again(clients: Clients) -> None:
    """Once all Services are gone, every address and port is free; and not one more than there are."""
    names = [obj["metadata"]["name"] for obj in await clients.items(SERVICES)]
    await at_once([clients.send("DELETE", f"{SERVICES}/{n}") for n in names if n != "kubernetes"])
    published = [service(f"port-{number}", type="NodePort") for number in range(PORTS)]
    plain = [service(f"plain-{number}") for number in range(ADDRESSES - PORTS)]
    for wanted in [*published, *plain]:
        assert (await clients.create(SERVICES, wanted)).status == 201
    assert (await clients.create(SERVICES, service("one-too-many"))).status >= 400


async def test_an_orderly_stop_ends_watches_cleanly_and_keeps_every_write(tmp_path: Path) -> None:
    with api_server(tmp_path) as server:
        async with connected(server, 8) as clients:
            watch = await clients.session.get("/api/v1/services", params={"watch": "1"})
            created = await clients.create(SERVICES, service("web"))
            stopped = asyncio.create_task(asyncio.to_thread(server.stop))
            lines = (await asyncio.wait_for(watch.read(), 10)).splitlines()
            assert await asyncio.wait_for(stopped, 3) == 0
            assert len(lines) == 2
            with pytest.raises(aiohttp.ClientError):
                await clients.send("GET", SERVICES)
        server.start()
        async with connected(server, 1) as clients:
            assert (await clients.send("GET", f"{SERVICES}/web")).body == created.body
