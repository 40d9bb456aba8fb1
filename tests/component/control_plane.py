"""Controllers as processes, and the least of a node: a whole control plane for tests, without a kernel."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fairway.api.resources import LEASES, NODES, PODS
from fairway.client import ApiError, Client, Informer, KubeConfig
from tests.conformance.server import FAIRWAY

PATIENCE = 60.0


class Controllers:
    def __init__(self, kubeconfig: Path, log: Path, *flags: str) -> None:
        self.log = log
        with log.open("ab") as output:
            command = [FAIRWAY, "controllers", "--kubeconfig", str(kubeconfig), *flags]
            self.process = subprocess.Popen(command, stdout=output, stderr=output)

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def controllers(kubeconfig: Path, log: Path, *flags: str) -> Iterator[Controllers]:
    started = Controllers(kubeconfig, log, *flags)
    try:
        yield started
    finally:
        started.kill()


class Node:
    """Renews its lease and runs every Pod it is given, by saying so. `silent` stops the first."""

    def __init__(self, client: Client, name: str, number: int) -> None:
        self._client, self.name, self._number = client, name, number
        self._given = 0
        self.silent = False
        self.ready: Callable[[dict[str, Any]], bool] = lambda _pod: True

    async def run(self, renew_every: float = 1.0) -> None:
        await self._register()
        pods = Informer(self._client, PODS, type=dict, field_selector=f"spec.nodeName={self.name}")
        async with asyncio.TaskGroup() as group:
            group.create_task(pods.run())
            group.create_task(self._renew(renew_every))
            while True:
                for pod in list(pods.items().values()):
                    with contextlib.suppress(ApiError):
                        await self._look_after(pod)
                await asyncio.sleep(0.05)

    async def _register(self) -> None:
        await self._client.create(NODES, {"metadata": {"name": self.name}})
        conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        amounts = {"cpu": "8", "memory": "8Gi", "pods": "110"}
        status = {"conditions": conditions, "allocatable": amounts, "capacity": amounts}
        await self._client.patch(NODES, self.name, {"status": status}, subresource="status")

    async def _renew(self, every: float) -> None:
        lease = {"metadata": {"name": self.name, "namespace": "kube-node-lease"}, "spec": {}}
        await self._client.create(LEASES, lease)
        while True:
            if not self.silent:
                spec = {"renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
                await self._client.patch(LEASES, self.name, {"spec": spec}, namespace="kube-node-lease")
            await asyncio.sleep(every)

    async def _look_after(self, pod: dict[str, Any]) -> None:
        meta = pod["metadata"]
        if self.silent:
            return
        if "deletionTimestamp" in meta:
            await self._client.delete(
                PODS, meta["name"], namespace=meta["namespace"], uid=meta["uid"], grace_period_seconds=0
            )
        elif not pod["status"].get("podIP") and self.ready(pod):
            self._given += 1
            await self._say_ready(meta, f"10.{self._number}.0.{self._given}")

    async def _say_ready(self, meta: dict[str, Any], ip: str) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        status = {
            "phase": "Running",
            "podIP": ip,
            "podIPs": [{"ip": ip}],
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}],
        }
        namespace = meta["namespace"]
        await self._client.patch(
            PODS, meta["name"], {"status": status}, namespace=namespace, subresource="status"
        )


@contextlib.asynccontextmanager
async def nodes(kubeconfig: Path, *names: str) -> AsyncIterator[list[Node]]:
    async with Client(KubeConfig.load(kubeconfig)) as client:
        made = [Node(client, name, number) for number, name in enumerate(names, 1)]
        tasks = [asyncio.create_task(node.run()) for node in made]
        try:
            yield made
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0.1)  # TLS connections take a moment to close


async def eventually(holds: Callable[[], Any], what: str) -> Any:
    """Polls until it is true; `holds` may be a coroutine function."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = holds()
        found = await found if asyncio.iscoroutine(found) else found
        if found:
            return found
        assert time.monotonic() < deadline, f"it never came true: {what}"
        await asyncio.sleep(0.1)


class Kubectl:
    def __init__(self, program: str, kubeconfig: Path) -> None:
        self._command = [program, "--kubeconfig", str(kubeconfig)]

    async def __call__(self, *words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *self._command, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, complaint = await asyncio.wait_for(process.communicate(), PATIENCE)
        assert process.returncode == 0, f"kubectl {' '.join(words)}: {complaint.decode()}"
        return out.decode()

    async def get(self, *words: str) -> Any:
        return json.loads(await self("get", *words, "-o", "json"))
