"""Thousands of random events, controllers that restart and watches that break: in the end all is right.

A real API server, real controllers, and a proxy between them that cuts connections. What is right is computed
anew by `endpoint_oracle`. FAIRWAY_MODEL_EVENTS makes it longer, FAIRWAY_MODEL_SEED repeats a run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairway.api.resources import ENDPOINT_SLICES, ENDPOINTS, NODES, PODS, SERVICES, Resource
from fairway.client import ApiError, Client, KubeConfig
from fairway.controllers import run as controllers
from fairway.controllers.config import Config
from tests.component.dropping_proxy import DroppingProxy, dropping_proxy
from tests.component.endpoint_oracle import (
    Obj,
    endpoints_found,
    endpoints_wanted,
    slices_found,
    slices_wanted,
)
from tests.conformance.server import ApiServer, api_server

EVENTS = int(os.environ.get("FAIRWAY_MODEL_EVENTS", "2400"))
SEED = int(os.environ.get("FAIRWAY_MODEL_SEED", str(random.randrange(1 << 30))))
EPOCHS = 3
# On a machine with much else to do it takes fewer events; asked for a number, it takes the time that takes.
EPOCH_SECONDS = float("inf") if "FAIRWAY_MODEL_EVENTS" in os.environ else 9.0
NAMESPACE = "default"
LABELS = [{"app": app, "tier": tier} for app in "abc" for tier in "xy"]
PATIENCE = 90.0
RUN = ("endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller")
RUN += ("garbage-collector-controller", "serviceaccount-controller")


class Actors:
    """Users, node agents and nodes: every method is one random thing one of them does."""

    def __init__(self, client: Client, choose: random.Random) -> None:
        self._client, self._choose = client, choose
        self._names = 0
        self._services: list[str] = []
        self._pods: list[str] = []
        self._going: list[str] = []

    async def act(self) -> None:
        kind = self._choose.choices((self.service, self.pod, self.node), (3, 9, 1))[0]
        # Two may want the same at once: the server's refusal is an answer, too.
        with contextlib.suppress(ApiError):
            await kind()

    async def service(self) -> None:
        if len(self._services) < 12 or self._choose.random() < 0.1:
            name = self._name("s")
            body = {"metadata": {"name": name}, "spec": self._service_spec()}
            await self._client.create(SERVICES, body, namespace=NAMESPACE)
            self._services.append(name)
        elif len(self._services) > 12 and self._choose.random() < 0.1:
            await self._client.delete(SERVICES, self._taken(self._services), namespace=NAMESPACE)
        else:
            name = self._choose.choice(self._services)
            await self._client.patch(SERVICES, name, self._service_change(), namespace=NAMESPACE)

    async def pod(self) -> None:
        if len(self._pods) < 60 or self._choose.random() < 0.1:
            pod = self._new_pod()
            await self._client.create(PODS, pod, namespace=NAMESPACE)
            self._pods.append(pod["metadata"]["name"])
        elif self._going and self._choose.random() < 0.2:
            name = self._taken(self._going)
            await self._client.delete(PODS, name, namespace=NAMESPACE, grace_period_seconds=0)
        elif self._choose.random() < 0.1:
            name = self._taken(self._pods)
            await self._client.delete(PODS, name, namespace=NAMESPACE)
            self._going.append(name)
        else:
            await self._change_pod(self._choose.choice([*self._pods, *self._going]))

    async def _change_pod(self, name: str) -> None:
        if self._choose.random() < 0.2:
            labels = {"metadata": {"labels": self._choose.choice(LABELS)}}
            await self._client.patch(PODS, name, labels, namespace=NAMESPACE)
        else:
            patch = {"status": self._pod_status(name)}
            await self._client.patch(PODS, name, patch, namespace=NAMESPACE, subresource="status")

    async def node(self) -> None:
        """They come late and change zone."""
        name = f"n{self._choose.randrange(6)}"
        zone = {"topology.kubernetes.io/zone": self._choose.choice(("za", "zb"))}
        try:
            await self._client.patch(NODES, name, {"metadata": {"labels": zone}})
        except ApiError:
            await self._client.create(NODES, {"metadata": {"name": name, "labels": zone}})

    def _taken(self, names: list[str]) -> str:
        return names.pop(self._choose.randrange(len(names)))

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _service_change(self) -> Obj:
        return self._choose.choice(
            (
                {"spec": {"selector": {"app": self._choose.choice("abc"), "tier": None}}},
                {"spec": {"selector": self._choose.choice(LABELS)}},
                {"spec": {"ports": self._ports()}},
                {"spec": {"publishNotReadyAddresses": self._choose.random() < 0.5}},
                {"spec": {"trafficDistribution": self._choose.choice(("PreferClose", None))}},
                {"metadata": {"labels": {"team": self._choose.choice(("red", "blue", None))}}},
            )
        )

    def _service_spec(self) -> Obj:
        spec: Obj = {"selector": self._choose.choice(LABELS), "ports": self._ports()}
        if self._choose.random() < 0.3:
            spec["clusterIP"] = "None"
        if self._choose.random() < 0.3:
            spec["ipFamilyPolicy"] = "PreferDualStack"
        return spec

    def _ports(self) -> list[Obj]:
        http = {"name": "http", "port": 80, "targetPort": self._choose.choice(("http", 8080))}
        dns = {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": self._choose.choice(("dns", 53))}
        return self._choose.choice(([http], [dns], [http, dns]))

    def _new_pod(self) -> Obj:
        ports = [{"name": "http", "containerPort": self._choose.choice((8080, 9090))}]
        if self._choose.random() < 0.5:
            ports.append({"name": "dns", "containerPort": 5353, "protocol": "UDP"})
        spec: Obj = {"containers": [{"name": "main", "image": "x", "ports": ports}]}
        spec["nodeName"] = f"n{self._choose.randrange(6)}"
        if self._choose.random() < 0.2:
            spec |= {"hostname": "h", "subdomain": f"s{self._choose.randrange(1, 20)}"}
        return {"metadata": {"name": self._name("p"), "labels": self._choose.choice(LABELS)}, "spec": spec}

    def _pod_status(self, name: str) -> Obj:
        number = int(name[1:])
        ips = [f"10.1.{number // 250}.{number % 250 + 1}", f"fd00::{number:x}"]
        chosen = ips[: self._choose.choice((0, 1, 2, 2))]
        ready = self._choose.choice(("True", "True", "False"))
        phase = self._choice_of_phase()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return {
            "phase": phase,
            "podIP": chosen[0] if chosen else None,
            "podIPs": [{"ip": ip} for ip in chosen] or None,
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": stamp}],
        }

    def _choice_of_phase(self) -> str:
        return self._choose.choices(("Running", "Pending", "Succeeded", "Failed"), (20, 3, 1, 1))[0]


class World:
    """The server, a client past the proxy, and controllers behind it."""

    def __init__(self, client: Client, proxy: DroppingProxy, config: Config) -> None:
        self.client, self.proxy, self._config = client, proxy, config
        self._life: asyncio.Task[None] | None = None

    async def restart(self) -> None:
        await self.stop()
        started = asyncio.Event()
        self._life = asyncio.create_task(controllers.run(self._config, started.set))
        done, _ = await asyncio.wait(
            {self._life, asyncio.create_task(started.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        assert self._life not in done, self._life.exception()

    async def stop(self) -> None:
        if self._life is not None:
            self._life.cancel()
            await asyncio.gather(self._life, return_exceptions=True)

    async def items(self, resource: Resource) -> list[Obj]:
        namespace = NAMESPACE if resource.namespaced else None
        return [
            obj
            for obj in (await self.client.list(resource, namespace=namespace)).items
            if obj["metadata"]["name"] != "kubernetes"
        ]

    async def settled(self) -> None:
        """Until everything is as the oracle says; the last difference if it never is."""
        deadline = time.monotonic() + PATIENCE
        while differences := await self.differences():
            assert time.monotonic() < deadline, f"seed {SEED}: {differences[:5]}"
            await asyncio.sleep(0.2)

    async def differences(self) -> list[str]:
        services, pods = await self.items(SERVICES), await self.items(PODS)
        nodes = {node["metadata"]["name"]: node for node in await self.items(NODES)}
        endpoints = {obj["metadata"]["name"]: obj for obj in await self.items(ENDPOINTS)}
        slices: dict[str, list[Obj]] = defaultdict(list)
        for item in await self.items(ENDPOINT_SLICES):
            slices[item["metadata"]["labels"]["kubernetes.io/service-name"]].append(item)
        told = [f"left over: {name}" for name in {*endpoints, *slices} - {_name(s) for s in services}]
        for service in services:
            name = _name(service)
            if slices_found(slices[name]) != (wanted := slices_wanted(service, pods, nodes)):
                told.append(f"slices of {name}: {slices_found(slices[name])}, not {wanted}")
            have = endpoints_found(endpoints[name]) if name in endpoints else None
            if have != (expected := endpoints_wanted(service, pods)):
                told.append(f"endpoints of {name}: {have}, not {expected}")
            told += [f"labels of {_name(s)}" for s in slices[name] if not _labelled(service, s)]
        return told

    async def revisions(self) -> dict[str, str]:
        found = [*await self.items(ENDPOINTS), *await self.items(ENDPOINT_SLICES)]
        return {obj["metadata"]["uid"]: obj["metadata"]["resourceVersion"] for obj in found}

    async def caught_up(self) -> None:
        """Until a Service made just now has its slices: it was the last in every queue."""
        name = f"last-{time.monotonic_ns()}"
        body = {"metadata": {"name": name}, "spec": {"selector": {"app": "nobody"}, "ports": [{"port": 1}]}}
        await self.client.create(SERVICES, body, namespace=NAMESPACE)
        await self.settled()
        await self.client.delete(SERVICES, name, namespace=NAMESPACE)
        await self.settled()


def _name(obj: Obj) -> str:
    return str(obj["metadata"]["name"])


def _labelled(service: Obj, item: Obj) -> bool:
    wanted = service["metadata"].get("labels") or {}
    return bool(wanted.items() <= item["metadata"]["labels"].items())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    ranges = ("--service-cluster-ip-range", "10.96.0.0/16,fd00:96::/112")
    with api_server(tmp_path_factory.mktemp("model"), *ranges) as started:
        yield started


@pytest.fixture
async def world(server: ApiServer, tmp_path: Path) -> AsyncIterator[World]:
    async with dropping_proxy(server.port) as proxy:
        path = tmp_path / "kubeconfig"
        path.write_text(server.kubeconfig.read_text().replace(server.url, proxy.address))
        config = Config(path, RUN)
        direct = replace(KubeConfig.load(server.kubeconfig), server=server.url)
        async with Client(direct) as client:
            made = World(client, proxy, config)
            try:
                await made.restart()
                yield made
            finally:
                await made.stop()


async def storm(world: World, actors: Actors, choose: random.Random, events: int) -> None:
    """Random events from several at once, and now and then a cut or a restart."""
    trouble: list[Callable[[], Awaitable[None]]] = [world.restart, _cut(world), _cut(world)]
    end = time.monotonic() + EPOCH_SECONDS
    for _ in range(0, events, 100):
        if time.monotonic() > end:
            return
        for _ in range(10):
            await asyncio.gather(*(actors.act() for _ in range(10)))
        if choose.random() < 0.5:
            await choose.choice(trouble)()


def _cut(world: World) -> Callable[[], Awaitable[None]]:
    async def cut() -> None:
        world.proxy.drop()

    return cut


@pytest.mark.timeout(PATIENCE * 10 + EVENTS)
async def test_after_any_history_endpoints_are_what_they_would_be_from_scratch(world: World) -> None:
    choose = random.Random(SEED)
    actors = Actors(world.client, choose)
    for epoch in range(EPOCHS):
        await storm(world, actors, choose, EVENTS // EPOCHS)
        for service in await world.items(SERVICES):  # a node's new zone shows with the next change
            patch = {"metadata": {"labels": {"epoch": str(epoch)}}}
            await world.client.patch(SERVICES, _name(service), patch, namespace=NAMESPACE)
        await world.settled()
        assert sum(len(item.get("endpoints") or ()) for item in await world.items(ENDPOINT_SLICES)) > 20
        await _nothing_is_written_when_nothing_changes(world)


async def _nothing_is_written_when_nothing_changes(world: World) -> None:
    before = await world.revisions()
    world.proxy.drop()
    await world.caught_up()
    await world.restart()
    for pod in (await world.items(PODS))[:20]:
        note = {"metadata": {"annotations": {"seen": str(time.monotonic())}}}
        await world.client.patch(PODS, _name(pod), note, namespace=NAMESPACE)
    await world.caught_up()
    assert await world.revisions() == before, f"seed {SEED}"
