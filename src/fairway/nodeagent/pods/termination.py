"""Ending a Pod's containers: hooks, the stop signal, and SIGKILL at the deadline, in Kubernetes' order."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable

import structlog

from fairway.nodeagent.objects import Container, Pod
from fairway.nodeagent.pods.container_runs import ContainerRuns
from fairway.nodeagent.pods.hooks import pre_stop, run_hook
from fairway.nodeagent.pods.plan import is_sidecar
from fairway.nodeagent.runtime.containers import ContainerRuntime

log = structlog.get_logger()
# For a Pod whose object is gone already: its name may be taken again any moment, so it goes quickly.
FORCED_GRACE = 2.0


def grace_seconds(pod: Pod, gone: bool) -> float:
    meta = pod.metadata
    stated = meta.deletion_grace_period_seconds
    full = float(pod.spec.termination_grace_period_seconds if stated is None else stated)
    return min(full, FORCED_GRACE) if gone else full


async def end_containers(pod: Pod, runs: ContainerRuns, runtime: ContainerRuntime, pod_ip: str) -> None:
    """Main containers together, then sidecars, the last one first. Takes as long as they take."""
    sidecars = [c.name for c in pod.spec.init_containers or () if is_sidecar(c)]
    main = [name for name in runs.running() if name not in sidecars]
    await asyncio.gather(*(_end(pod, name, runs, runtime, pod_ip) for name in main))
    for name in reversed(sidecars):
        await _end(pod, name, runs, runtime, pod_ip)


async def _end(pod: Pod, name: str, runs: ContainerRuns, runtime: ContainerRuntime, pod_ip: str) -> None:
    container, run = pod.container(name), runs.latest.get(name)
    if container and run and run.running:
        hook = asyncio.create_task(_pre_stop(container, run.id, runtime, pod_ip))
        await runs.unless_ended(name, hook)
    await runs.stop(name)


async def _pre_stop(container: Container, run_id: str, runtime: ContainerRuntime, pod_ip: str) -> None:
    hook = pre_stop(container)
    if hook is None:
        return
    complaint = await run_hook(hook, container, pod_ip, lambda words: runtime.execute(run_id, words))
    if complaint:
        log.warning("preStop hook failed", container=container.name, error=complaint)


async def kill_at_deadline(runs: ContainerRuns, grace: Callable[[], float], changed: asyncio.Event) -> None:
    """SIGKILL for all once `grace()` seconds are over; it is asked again whenever something `changed`."""
    began = time.monotonic()
    while (remaining := began + grace() - time.monotonic()) > 0:
        changed.clear()
        try:
            async with asyncio.timeout(remaining):
                await changed.wait()
        except TimeoutError:
            pass
    for name in runs.running():
        log.info("grace period over", container=name)
        runs.send(name, signal.SIGKILL)


async def within(seconds: float, work: Awaitable[None]) -> None:
    """Done or not, go on after that time."""
    try:
        await asyncio.wait_for(work, seconds)
    except TimeoutError:
        pass
