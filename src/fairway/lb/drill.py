"""A planned move of an address to another node, with the outage it causes measured by connections from here.

The holder is asked through a note on the Lease: it falls silent, gives it back and lets others go first.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fairway.api.resources import LEASES, SERVICES
from fairway.client import Client, NotFound
from fairway.lb.objects import NAMESPACE, Lease, Service
from fairway.lb.speaker.leases import LEAVE_ANNOTATION
from fairway.lb.speaker.model import lease_name

EVERY = 0.02
TIMEOUT = 1.0
WARM_UP_SECONDS = 0.5
PATIENCE_SECONDS = 15.0


class DrillError(Exception):
    """The drill can't be held; the message says why."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One connection: when it was begun, and how long it took; None if it failed."""

    began: float
    took: float | None


@dataclass(frozen=True, slots=True)
class Report:
    address: str
    before: str
    after: str
    moved_seconds: float
    probes: int
    failed: int
    outage_seconds: float
    """The longest time between two connections that were made."""


def outage(probes: Sequence[Probe]) -> float:
    """How long nobody got through: the longest gap between successes, less what is usual between two."""
    ends = sorted(probe.began + probe.took for probe in probes if probe.took is not None)
    gaps = [late - early for early, late in pairwise(ends)]
    return max(0.0, max(gaps, default=0.0) - EVERY)


async def drill(client: Client, name: str, namespace: str) -> Report:
    service = await client.get(SERVICES, name, namespace=namespace, type=Service)
    port = next((p.port for p in service.spec.ports if p.protocol == "TCP"), None)
    if not service.addresses or port is None:
        raise DrillError(f"Service {namespace}/{name} has no address, or no TCP port to try it with")
    address = service.addresses[0]
    before = await _holder(client, address)
    if not before:
        raise DrillError(f"no node holds {address}")
    probes: list[Probe] = []
    probing = asyncio.create_task(_probe_on(address, port, probes))
    try:
        await asyncio.sleep(WARM_UP_SECONDS)
        began = time.monotonic()
        note = {"metadata": {"annotations": {LEAVE_ANNOTATION: before}}}
        await client.patch(LEASES, lease_name(address), note, namespace=NAMESPACE)
        after = await _moved(client, address, before)
        moved = time.monotonic() - began
        await asyncio.sleep(TIMEOUT + WARM_UP_SECONDS)
    finally:
        probing.cancel()
        await asyncio.gather(probing, return_exceptions=True)
    failed = sum(probe.took is None for probe in probes)
    return Report(address, before, after, moved, len(probes), failed, outage(probes))


async def _moved(client: Client, address: str, before: str) -> str:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if (holder := await _holder(client, address)) not in ("", before):
            return holder
        await asyncio.sleep(EVERY)
    raise DrillError(f"no other node took {address}; {before} takes it back. Is there one that may hold it?")


async def _holder(client: Client, address: str) -> str:
    try:
        lease = await client.get(LEASES, lease_name(address), namespace=NAMESPACE, type=Lease)
    except NotFound:
        return ""
    return lease.spec.holder_identity or ""


async def _probe_on(address: str, port: int, probes: list[Probe]) -> None:
    """A new one at every tick, whether or not the former ones have an answer."""
    async with asyncio.TaskGroup() as group:
        while True:
            group.create_task(_probe(address, port, probes))
            await asyncio.sleep(EVERY)


async def _probe(address: str, port: int, probes: list[Probe]) -> None:
    began = time.monotonic()
    took: float | None = None
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(TIMEOUT):
            _, writer = await asyncio.open_connection(address, port)
        took = time.monotonic() - began
        writer.close()
    probes.append(Probe(began, took))
