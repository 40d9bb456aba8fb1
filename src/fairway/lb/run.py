"""The load balancer component: the allocating part, the speaking part of one node, or both in one process."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

from fairway.client import Client, EventRecorder, KubeConfig, LeaderElector
from fairway.kernel.link import PacketLink
from fairway.kernel.nftables import LibNftables
from fairway.lb.allocation.controller import Allocator
from fairway.lb.balancer.balancer import Balancer
from fairway.lb.config import Config
from fairway.lb.speaker.speaker import Caches, Speaker

COMPONENT = "fairway-lb"


async def run(config: Config, ready: Callable[[], None] = lambda: None) -> None:
    """Until cancelled."""
    kubeconfig = KubeConfig.load(config.kubeconfig) if config.kubeconfig else KubeConfig.from_env()
    async with Client(kubeconfig, component="lb") as client, asyncio.TaskGroup() as group:
        recorder = EventRecorder(client, COMPONENT, host=config.node)
        group.create_task(recorder.run())
        if config.controller:
            group.create_task(_allocate(config, client, recorder))
        if config.speaker:
            group.create_task(_speak(config, client, recorder))
        ready()


async def _allocate(config: Config, client: Client, recorder: EventRecorder) -> None:
    async def lead() -> None:
        # Made anew for each term: what a former leader knew is out of date.
        await Allocator(client, recorder, config.default_class).run()

    if not config.leader_elect:
        await lead()
        return
    identity = f"{config.node or socket.gethostname()}_{os.getpid()}"
    await LeaderElector(client, COMPONENT, identity).run(lead)


async def _speak(config: Config, client: Client, recorder: EventRecorder) -> None:
    link, nftables = PacketLink(config.interface), LibNftables()
    try:
        async with asyncio.TaskGroup() as group:
            caches = Caches(client)
            await caches.run(group)
            group.create_task(Speaker(config, client, recorder, link, caches).run())
            group.create_task(Balancer(config, client, recorder, nftables, caches).run())
    finally:
        link.close()
        nftables.close()
