"""`fairway ingress` where it is root but there is nobody else to be: in a user namespace of its own."""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fairway.api.resources import INGRESS_CLASSES, INGRESSES, SECRETS, SERVICES
from fairway.client import Client, KubeConfig
from fairway.ingress.config import CONTROLLER, Config
from tests.component.ingress_under_test import Echo, ask, free_port
from tests.conformance.server import ApiServer, api_server

NAMESPACE = ("unshare", "--user", "--map-root-user")
PREFIX = "nginx.ingress.kubernetes.io/"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    with api_server(tmp_path) as started:
        yield started


@dataclass
class Running:
    config: Config
    process: asyncio.subprocess.Process

    async def status(self, **headers: str) -> int:
        """0 while nobody listens."""
        assert self.process.returncode is None, "it has ended by itself"
        try:
            return (await ask(self.config, "GET / HTTP/1.1", "web.test", headers)).status
        except OSError:
            return 0

    async def status_once_routed(self) -> int:
        while True:
            found = await self.status()
            if found not in (0, 404, 503):
                return found
            await asyncio.sleep(0.02)


@pytest.fixture
async def running(server: ApiServer, tmp_path: Path) -> AsyncIterator[Running]:
    made = Config(data=tmp_path / "nginx", http_port=free_port(), https_port=free_port())
    process = await asyncio.create_subprocess_exec(
        *(*NAMESPACE, sys.executable, "-m", "fairway.cli", "ingress", "--kubeconfig", str(server.kubeconfig)),
        *("--data", str(made.data), "--bind", "127.0.0.1", "--http-port", str(made.http_port)),
        *("--https-port", str(made.https_port), "--status-port", str(free_port()), "--workers", "2"),
    )
    yield Running(made, process)
    if process.returncode is None:
        process.terminate()
    assert await process.wait() == 0


async def publish(server: ApiServer, port: int) -> None:
    """A server behind a route that asks for a password, whose file workers must be able to read."""
    users = base64.b64encode(b"alice:{PLAIN}secret\n").decode()
    backend = {"service": {"name": "web", "port": {"number": port}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    notes = {PREFIX + "auth-type": "basic", PREFIX + "auth-secret": "users"}
    outside = {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": port}]}
    rules = [{"host": "web.test", "http": {"paths": paths}}]
    async with Client(KubeConfig.load(server.kubeconfig), component="test") as client:
        await client.create(
            INGRESS_CLASSES, {"metadata": {"name": "fairway"}, "spec": {"controller": CONTROLLER}}
        )
        for kind, made in (
            (SECRETS, {"metadata": {"name": "users"}, "data": {"auth": users}}),
            (SERVICES, {"metadata": {"name": "web"}, "spec": outside}),
            (
                INGRESSES,
                {
                    "metadata": {"name": "web", "annotations": notes},
                    "spec": {"ingressClassName": "fairway", "rules": rules},
                },
            ),
        ):
            await client.create(kind, made, namespace="default")


async def test_it_serves_as_root_of_a_user_namespace(server: ApiServer, running: Running) -> None:
    echo = await Echo("web").start()
    await publish(server, echo.port)
    assert await running.status_once_routed() == 401
    right = base64.b64encode(b"alice:secret").decode()
    assert await running.status(Authorization=f"Basic {right}") == 200
    await echo.stop()
