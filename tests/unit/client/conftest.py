"""An API server and a client of it for each test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from fairway.api.objects import Service
from fairway.api.resources import SERVICES
from fairway.client import Client, Informer, KubeConfig

from .fake_api import FakeApi, Follower, serving


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with serving(FakeApi()) as fake:
        yield fake


@pytest.fixture
async def client(api: FakeApi) -> AsyncIterator[Client]:
    async with Client(KubeConfig(server=api.url), component="test") as connected:
        yield connected


@pytest.fixture
async def follow(client: Client) -> AsyncIterator[Callable[..., Awaitable[Follower]]]:
    """Start an informer and wait until it is synced."""
    async with asyncio.TaskGroup() as tasks:
        started: list[asyncio.Task[None]] = []

        async def start(**options: Any) -> Follower:
            delays: list[float] = []

            async def wait(delay: float) -> None:
                delays.append(delay)
                await asyncio.sleep(0)

            informer = Informer(client, SERVICES, type=Service, sleep=wait, **options)
            follower = Follower(informer, delays=delays)
            informer.on_change(lambda *change: follower.changes.put_nowait(change))
            started.append(tasks.create_task(informer.run()))
            await asyncio.wait_for(informer.synced(), 5)
            return follower

        yield start
        for task in started:
            task.cancel()
