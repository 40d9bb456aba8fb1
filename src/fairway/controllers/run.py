"""Starts the chosen controllers over one set of caches, and keeps them running."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

import structlog

from fairway.api.resources import Resource
from fairway.client import ApiError, Client, EventRecorder, KubeConfig, LeaderElector, NotFound
from fairway.controllers.catalog import CONTROLLERS, Surroundings
from fairway.controllers.cluster import Bare, Cluster
from fairway.controllers.config import Config, chosen
from fairway.controllers.everything import collectable_resources

log = structlog.get_logger()
COMPONENT = "fairway-controllers"


async def run(config: Config, ready: Callable[[], None] = lambda: None) -> None:
    """Until cancelled. With leader election it is ready as soon as it stands by."""
    names = chosen(config.controllers, CONTROLLERS)
    kubeconfig = KubeConfig.load(config.kubeconfig) if config.kubeconfig else KubeConfig.from_env()
    root_ca = _root_ca(config, kubeconfig)
    async with Client(kubeconfig, component="controllers") as client:
        if not config.leader_elect:
            await _control(client, config, names, root_ca, ready)
            return
        ready()
        await _elector(client, config).run(lambda: _control(client, config, names, root_ca, lambda: None))


def _elector(client: Client, config: Config) -> LeaderElector:
    election = config.election
    return LeaderElector(
        client,
        election.name,
        config.identity or f"{socket.gethostname()}_{os.getpid()}",
        election.namespace,
        election.lease_duration,
        election.renew_deadline,
        election.retry_period,
    )


async def _control(
    client: Client, config: Config, names: list[str], root_ca: str, ready: Callable[[], None]
) -> None:
    async with asyncio.TaskGroup() as group:
        recorder = EventRecorder(client, COMPONENT)
        group.create_task(recorder.run())
        cluster = Cluster(client, recorder)
        surroundings = Surroundings(cluster, config, root_ca, await _served(client))
        controllers = [CONTROLLERS[name](surroundings) for name in names]
        cluster.start(group)
        await cluster.synced()
        log.info("controlling", controllers=",".join(names))
        ready()
        for controller in controllers:
            group.create_task(controller.loop.run())


async def _served(client: Client) -> tuple[Resource, ...]:
    """Which of the resources we know the server has: to follow one it lacks would be to wait for ever."""
    found = await asyncio.gather(*(_is_served(client, r) for r in collectable_resources()))
    return tuple(r for r, served in zip(collectable_resources(), found, strict=True) if served)


async def _is_served(client: Client, resource: Resource) -> bool:
    while True:
        try:
            await client.list(resource, limit=1, type=Bare)
        except NotFound:
            return False
        except ApiError as error:
            log.warning("waiting for the API server", resource=resource.plural, error=str(error))
            await asyncio.sleep(1)
        else:
            return True


def _root_ca(config: Config, kubeconfig: KubeConfig) -> str:
    """What Pods are to verify the API server by: the CA we do it by ourselves, unless told otherwise."""
    if config.root_ca_file is not None:
        return config.root_ca_file.read_text()
    return kubeconfig.ca.decode() if kubeconfig.ca else ""
