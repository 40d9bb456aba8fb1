"""All probes of one running container: when to check, and what the results add up to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from fairway.nodeagent.objects import Container, Probe
from fairway.nodeagent.pods.model import Health
from fairway.nodeagent.probes.checks import Execute, check
from fairway.nodeagent.probes.state import Kind, ProbeState, after, begin

OnUnhealthy = Callable[[Kind, str], None]


class ProbeRunner:
    """`run` it while the container runs; `health` is what the probes say now."""

    def __init__(
        self,
        container: Container,
        pod_ip: str,
        started_at: float,
        execute: Execute,
        on_change: Callable[[], None],
        on_unhealthy: OnUnhealthy = lambda kind, complaint: None,
        before: Health | None = None,
    ) -> None:
        self._container = container
        self._pod_ip = pod_ip
        self._started_at = started_at
        self._execute = execute
        self._on_change = on_change
        self._on_unhealthy = on_unhealthy
        self.health = before or Health(
            started=container.startup_probe is None,
            ready=container.startup_probe is None and container.readiness_probe is None,
        )

    async def run(self) -> None:
        if self._container.startup_probe and not self.health.started:
            await self._until_decided(Kind.STARTUP, self._container.startup_probe)
        async with asyncio.TaskGroup() as group:
            if probe := self._container.readiness_probe:
                group.create_task(self._repeat(Kind.READINESS, probe))
            if probe := self._container.liveness_probe:
                group.create_task(self._repeat(Kind.LIVENESS, probe))

    async def _until_decided(self, kind: Kind, probe: Probe) -> None:
        state = begin(kind, probe, self._started_at, time.time())
        while state.outcome is None:
            state = await self._check(state, probe)
        if not state.outcome:
            await asyncio.Event().wait()

    async def _repeat(self, kind: Kind, probe: Probe) -> None:
        state = begin(kind, probe, self._started_at, time.time())
        if kind is Kind.READINESS and self.health.ready:
            state = replace(state, outcome=True)
        while True:
            state = await self._check(state, probe)

    async def _check(self, state: ProbeState, probe: Probe) -> ProbeState:
        await asyncio.sleep(max(0.0, state.next_at - time.time()))
        now = time.time()
        complaint = await check(probe, self._container, self._pod_ip, self._execute)
        new = after(state, probe, complaint is None, now)
        if complaint is not None and (new.outcome is False or state.outcome):
            # Not while a container is merely starting up.
            self._on_unhealthy(state.kind, complaint)
        if new.outcome != state.outcome:
            self._decided(new, complaint or "")
        return new

    def _decided(self, state: ProbeState, complaint: str) -> None:
        self.health = judged(self.health, state.kind, bool(state.outcome), complaint, self._container)
        self._on_change()


def judged(health: Health, kind: Kind, passed: bool, complaint: str, container: Container) -> Health:
    """The health that follows from one probe's outcome."""
    if kind is Kind.READINESS:
        return Health(health.started, passed, health.alive, health.complaint)
    if not passed:
        text = f"Container {container.name} failed {kind.value.lower()} probe: {complaint}"
        return Health(health.started, False, False, text)
    return Health(True, health.ready or container.readiness_probe is None, True)
