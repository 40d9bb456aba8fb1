"""What an Ingress's owner sees: its address in the status, and an Event for what is wrong with it."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from fairway.api.objects import LoadBalancerIngress, Service
from fairway.api.resources import INGRESSES
from fairway.client import ApiError, Client, Informer, NotFound
from fairway.client.events import EventRecorder, reference
from fairway.ingress.config import Config
from fairway.ingress.objects import Ingress
from fairway.ingress.table import Table

log = structlog.get_logger()
_PAUSE = 0.2


class Reporter:
    def __init__(
        self, client: Client, recorder: EventRecorder, config: Config, services: Informer[Service]
    ) -> None:
        self._client, self._recorder, self._config, self._services = client, recorder, config, services
        self._awake = asyncio.Event()
        self._told: dict[str, tuple[str, ...]] = {}

    def wake(self) -> None:
        self._awake.set()

    async def run(self, table: Table) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            while True:
                await self._awake.wait()
                await asyncio.sleep(_PAUSE)
                self._awake.clear()
                await self._report(table)

    async def _report(self, table: Table) -> None:
        wanted = addresses(self._config, self._services.get(self._config.publish_service))
        for ingress in table.ours():
            problems = table.problems.get(ingress.metadata.key, ())
            self._tell(ingress, problems)
            if wanted and list(ingress.status.load_balancer.ingress or ()) != wanted:
                await self._publish(ingress, wanted)
        self._told = {key: told for key, told in self._told.items() if key in table.problems}

    def _tell(self, ingress: Ingress, problems: tuple[str, ...]) -> None:
        """Each problem once, until it changes."""
        key = ingress.metadata.key
        before = self._told.get(key, ())
        for problem in problems:
            if problem not in before:
                about = reference(INGRESSES, ingress.metadata)
                self._recorder.record(about, "Rejected", problem, kind="Warning")
        self._told[key] = problems

    async def _publish(self, ingress: Ingress, wanted: list[LoadBalancerIngress]) -> None:
        entries: list[dict[str, Any]] = [
            {"ip": each.ip} if each.ip else {"hostname": each.hostname} for each in wanted
        ]
        meta = ingress.metadata
        patch = {"status": {"loadBalancer": {"ingress": entries}}}
        try:
            await self._client.patch(
                INGRESSES, meta.name, patch, namespace=meta.namespace, subresource="status", kind="merge"
            )
        except NotFound:
            pass
        except ApiError as error:
            log.warning("status could not be written", ingress=meta.key, error=str(error))
            self._awake.set()


def addresses(config: Config, service: Service | None) -> list[LoadBalancerIngress]:
    """Where the Ingresses are reached: as configured, or as the Service in front of nginx is."""
    if config.publish_addresses:
        return [LoadBalancerIngress(ip=address) for address in config.publish_addresses]
    if service is None:
        return []
    given = service.status.load_balancer.ingress or ()
    if given:
        return [LoadBalancerIngress(ip=each.ip, hostname=each.hostname) for each in given]
    return [
        LoadBalancerIngress(ip=address) for address in service.spec.external_ips or [service.spec.cluster_ip]
    ]
