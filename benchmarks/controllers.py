"""The controllers: how soon a Service has its slice, what a crowd of Pods costs, what many Services weigh."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.apiserver_process import FAIRWAY, Server, api_server
from benchmarks.processes import memory, used
from benchmarks.report import Report
from fairway.api.objects import EndpointSlice, Service
from fairway.api.resources import (
    ENDPOINT_SLICES,
    ENDPOINTS,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)
from fairway.client import Client, Informer, KubeConfig
from fairway.controllers.cluster import Bare

NAMESPACE = "default"
SMALL, AT_ONCE = 200, 15
CROWD = 1_000
MANY = 10_000
IDLE_SECONDS = 10.0


def run(report: Report) -> None:
    # The crowd's node is none: nobody may find that out meanwhile.
    with api_server() as server, controllers(server, "*,-scheduler,-node-lifecycle-controller") as process:
        asyncio.run(latency_and_crowd(server, process, report))
    with api_server() as server, controllers(server) as process:
        asyncio.run(with_many_services(server, process, report))


@contextlib.contextmanager
def controllers(server: Server, chosen: str = "*") -> Iterator[int]:
    command = [FAIRWAY, "controllers", "--kubeconfig", server.kubeconfig, "--controllers", chosen]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


async def latency_and_crowd(server: Server, process: int, report: Report) -> None:
    async with Client(KubeConfig.load(server.kubeconfig)) as client:
        await ready(client)
        before = used(process)
        delays = sorted(await slice_delays(client))
        p50, p99 = delays[len(delays) // 2], delays[int(len(delays) * 0.99)]
        spent = (used(process) - before) / SMALL * 1000
        what = f"{SMALL} Services, {AT_ONCE} at a time, created → slice seen, p50 / p99"
        report.add(what, f"{p50 * 1000:.0f} / {p99 * 1000:.0f} ms", "goal p99 100 ms")
        report.add("processor time of the controllers a Service", f"{spent:.1f} ms")
        await crowd(client, process, report)


async def ready(client: Client) -> None:
    """The controllers are at work once every namespace has its account."""

    async def made() -> bool:
        return bool((await client.list(SERVICE_ACCOUNTS, namespace=NAMESPACE)).items)

    await until(made)


def service(name: str, app: str) -> dict[str, Any]:
    spec = {"selector": {"app": app}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    return {"metadata": {"name": name}, "spec": spec}


async def slice_delays(client: Client) -> list[float]:
    """Seconds from the answer to a create to the slice on a watch."""
    seen: dict[str, float] = {}
    made: dict[str, float] = {}

    def noted(_key: str, _old: object, new: EndpointSlice | None) -> None:
        if new is not None:
            seen.setdefault(new.metadata.label("kubernetes.io/service-name"), time.perf_counter())

    numbers = iter(range(SMALL))

    async def worker() -> None:
        for number in numbers:
            name = f"s{number}"
            await client.create(SERVICES, service(name, name), namespace=NAMESPACE)
            made[name] = time.perf_counter()

    async with informer(client, ENDPOINT_SLICES, EndpointSlice) as slices:
        slices.on_change(noted)
        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
        await until(lambda: made.keys() <= seen.keys())
    return [max(0.0, seen[name] - moment) for name, moment in made.items()]


async def crowd(client: Client, process: int, report: Report) -> None:
    """All Pods of one Service become ready one after the other, as fast as the server takes it."""
    await client.create(NODES, {"metadata": {"name": "n1"}})
    await in_parallel(CROWD, lambda number: client.create(PODS, pod(number), namespace=NAMESPACE))
    await client.create(SERVICES, service("crowd", "crowd"), namespace=NAMESPACE)
    writes = 0

    def counted(_key: str, _old: object, _new: object) -> None:
        nonlocal writes
        writes += 1

    async with (
        informer(client, ENDPOINT_SLICES, EndpointSlice) as slices,
        informer(client, ENDPOINTS, dict) as endpoints,
    ):
        for followed in (slices, endpoints):
            followed.on_change(counted)
        begin, before, writes = time.perf_counter(), used(process), 0
        await in_parallel(CROWD, lambda number: say_ready(client, number))
        said = time.perf_counter() - begin
        await until(lambda: ready_endpoints(slices) == CROWD)
        report.add(f"{CROWD:,} Pods said to be ready", f"{said:.1f} s")
        report.add("… until the last is a ready endpoint", f"{time.perf_counter() - begin - said:.2f} s")
        report.add("… writes to Endpoints and slices", f"{writes}")
        report.add("… processor time of the controllers", f"{used(process) - before:.1f} s")


def ready_endpoints(slices: Informer[EndpointSlice]) -> int:
    crowd = [s for s in slices.items().values() if s.metadata.label("kubernetes.io/service-name") == "crowd"]
    return sum(bool(e.conditions.ready) for item in crowd for e in item.endpoints or ())


def pod(number: int) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "ports": [{"containerPort": 8080}]}
    meta = {"name": f"p{number}", "labels": {"app": "crowd"}}
    return {"metadata": meta, "spec": {"nodeName": "n1", "containers": [container]}}


async def say_ready(client: Client, number: int) -> None:
    ip = f"10.1.{number // 250}.{number % 250 + 1}"
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": now}]
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
    await client.patch(PODS, f"p{number}", {"status": status}, namespace=NAMESPACE, subresource="status")


async def with_many_services(server: Server, process: int, report: Report) -> None:
    async with Client(KubeConfig.load(server.kubeconfig)) as client:
        await ready(client)
        create = lambda n: client.create(SERVICES, service(f"s{n}", f"s{n}"), namespace=NAMESPACE)  # noqa: E731
        begin = time.perf_counter()
        await in_parallel(MANY, create)
        report.add(f"{MANY:,} Services made", f"{time.perf_counter() - begin:.1f} s")
        begin = time.perf_counter()
        for kind in (ENDPOINT_SLICES, ENDPOINTS):
            async with informer(client, kind, Bare) as made:
                await until(lambda made=made: len(made.items()) > MANY)  # type: ignore[misc]
        report.add("… behind the last of them", f"{time.perf_counter() - begin:.1f} s")
        await asyncio.sleep(5)
        before = used(process)
        await asyncio.sleep(IDLE_SECONDS)
        share = (used(process) - before) / IDLE_SECONDS
        report.add(f"controllers, {MANY:,} Services, memory (PSS)", f"{memory(process):.0f} MB")
        report.add(f"controllers, {MANY:,} Services, idle", f"{share * 100:.1f} % CPU", "goal 1 %")
        await informers_of_all(client, report)


async def informers_of_all(client: Client, report: Report) -> None:
    gc.collect()
    resident, begin, spent = memory_of_self(), time.perf_counter(), time.process_time()
    async with (
        informer(client, SERVICES, Service) as one,
        informer(client, ENDPOINT_SLICES, EndpointSlice) as two,
    ):
        took, spent = time.perf_counter() - begin, time.process_time() - spent
        assert min(len(one.items()), len(two.items())) > MANY
        gc.collect()
        grown = memory_of_self() - resident
        report.add(f"informers, {MANY:,} Services + slices, synced", f"{took:.2f} s", "goal 1.50 s")
        report.add("… of which processor time here", f"{spent:.2f} s")
        report.add("… memory they hold", f"{grown:.0f} MB")


@contextlib.asynccontextmanager
async def informer(client: Client, resource: Resource, type_: Any) -> AsyncIterator[Informer[Any]]:
    followed: Informer[Any] = Informer(client, resource, type=type_)
    task = asyncio.create_task(followed.run())
    await followed.synced()
    try:
        yield followed
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], Any]) -> None:
    while True:
        found = holds()
        if await found if asyncio.iscoroutine(found) else found:
            return
        await asyncio.sleep(0.01)


async def in_parallel(count: int, work: Any, workers: int = 16) -> None:
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(worker() for _ in range(workers)))


def memory_of_self() -> float:
    found = re.search(r"^VmRSS:\s+(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1024
