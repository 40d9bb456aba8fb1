"""Keeping the Node registered, its status current, and its Lease fresh."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import structlog

from fairway.api.resources import LEASES, NODES
from fairway.client import AlreadyExists, ApiError, Client, NotFound
from fairway.nodeagent.config import Config
from fairway.nodeagent.node.registration import (
    Machine,
    conditions,
    labels,
    lease,
    microseconds,
    node_object,
    node_status,
    utc_now,
)

log = structlog.get_logger()
Json = dict[str, Any]
LEASE_NAMESPACE = "kube-node-lease"
RENEW_SECONDS = 10.0
STATUS_SECONDS = 300.0
_RETRY_SECONDS = 1.0


class Heartbeat:
    def __init__(self, client: Client, config: Config, machine: Machine) -> None:
        self._client = client
        self._config = config
        self._machine = machine
        self._status_at = 0.0
        self._node_uid = ""

    async def register(self) -> None:
        """Until the API server has taken it."""
        while True:
            try:
                await self._register()
            except ApiError as error:
                log.warning("node not registered", error=str(error))
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    async def run(self) -> None:
        """For ever: the Lease every ten seconds, the status every five minutes."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self._renew()
                if time.monotonic() - self._status_at >= STATUS_SECONDS:
                    await self._register()
            except NotFound:
                await self.register()
            except ApiError as error:
                log.warning("heartbeat failed", error=str(error))

    async def _register(self) -> None:
        node = await self._existing_node()
        self._node_uid = node["metadata"]["uid"]
        before = (node.get("status") or {}).get("conditions") or ()
        status = node_status(self._config, self._machine) | {"conditions": conditions(before, utc_now())}
        await self._client.patch(
            NODES, self._config.name, {"status": status}, subresource="status", kind="strategic"
        )
        self._status_at = time.monotonic()
        await self._renew()

    async def _existing_node(self) -> Json:
        wanted = node_object(self._config, self._machine)
        try:
            node = await self._client.get(NODES, self._config.name)
        except NotFound:
            try:
                return await self._client.create(NODES, wanted)
            except AlreadyExists:
                node = await self._client.get(NODES, self._config.name)
        return await self._corrected(node, wanted)

    async def _corrected(self, node: Json, wanted: Json) -> Json:
        """Labels that are ours to set, and a Pod range where none is set; one that is set can't change."""
        patch: Json = {}
        present = node["metadata"].get("labels") or {}
        missing = {
            key: value
            for key, value in labels(self._config, self._machine).items()
            if present.get(key) != value
        }
        if missing:
            patch["metadata"] = {"labels": missing}
        pod_cidr = (node.get("spec") or {}).get("podCIDR")
        if not pod_cidr:
            patch["spec"] = wanted["spec"]
        elif pod_cidr != self._config.pod_cidr:
            log.error("the Node has another Pod range", node=pod_cidr, ours=self._config.pod_cidr)
        if patch:
            return await self._client.patch(NODES, self._config.name, patch)
        return node

    async def _renew(self) -> None:
        patch = {"spec": {"holderIdentity": self._config.name, "renewTime": microseconds(utc_now())}}
        try:
            await self._client.patch(LEASES, self._config.name, patch, namespace=LEASE_NAMESPACE)
        except NotFound:
            wanted = lease(self._config.name, self._node_uid, utc_now())
            await self._client.create(LEASES, wanted, namespace=LEASE_NAMESPACE)
