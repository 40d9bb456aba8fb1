"""Lifecycle hooks of containers: a command, a request or a pause, after the start and before the end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from fairway.nodeagent.objects import Container, LifecycleHandler
from fairway.nodeagent.probes import checks
from fairway.nodeagent.probes.checks import Complaint, Execute


def post_start(container: Container) -> LifecycleHandler | None:
    return container.lifecycle.post_start if container.lifecycle else None


def pre_stop(container: Container) -> LifecycleHandler | None:
    return container.lifecycle.pre_stop if container.lifecycle else None


async def run_hook(hook: LifecycleHandler, container: Container, pod_ip: str, execute: Execute) -> Complaint:
    """As long as it takes; returns why it failed, or None."""
    if hook.exec:
        return await checks.command(hook.exec.command, execute)
    if hook.http_get:
        return await checks.http_get(hook.http_get, container, pod_ip)
    if hook.sleep:
        await asyncio.sleep(hook.sleep.seconds)
    return None


async def unless(hooking: asyncio.Task[str | None], *ends: Coroutine[Any, Any, Any]) -> str | None:
    """A hook's complaint, if it comes before any of the `ends`, which make it pointless."""
    others = [asyncio.create_task(end) for end in ends]
    try:
        await asyncio.wait([hooking, *others], return_when=asyncio.FIRST_COMPLETED)
        return hooking.result() if hooking.done() else None
    finally:
        await cancelled(hooking, *others)


async def cancelled(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
