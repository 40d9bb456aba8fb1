"""What a Pod needs from the API when it starts: Services, ConfigMaps, Secrets, tokens.

Read at that moment rather than watched: it happens rarely, it is never stale, and it holds no memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

from fairway.api.objects import Service
from fairway.api.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS, SERVICES
from fairway.client import Client, NotFound
from fairway.nodeagent.objects import ConfigMap, Pod, Secret, TokenSource
from fairway.nodeagent.pods import environment, volumes
from fairway.nodeagent.pods.environment import API_SERVICE, References

T = TypeVar("T")


class Sources(Protocol):
    async def services(self, namespace: str) -> list[Service]: ...
    async def references(self, pod: Pod) -> References: ...
    async def tokens(self, pod: Pod) -> dict[TokenSource, str]: ...


class ApiSources:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def services(self, namespace: str) -> list[Service]:
        """Those of one namespace, and the API's own."""
        listing = await self._client.list(SERVICES, namespace=namespace, type=Service)
        if namespace == API_SERVICE[0]:
            return listing.items
        own = await self._existing(
            [API_SERVICE[1]],
            lambda name: self._client.get(SERVICES, name, namespace=API_SERVICE[0], type=Service),
        )
        return [*listing.items, *own.values()]

    async def references(self, pod: Pod) -> References:
        namespace = pod.metadata.namespace
        in_env, in_volumes = environment.named_objects(pod), volumes.named_objects(pod)
        config_maps = await self._existing(
            in_env[0] | in_volumes[0],
            lambda name: self._client.get(CONFIG_MAPS, name, namespace=namespace, type=ConfigMap),
        )
        secrets = await self._existing(
            in_env[1] | in_volumes[1],
            lambda name: self._client.get(SECRETS, name, namespace=namespace, type=Secret),
        )
        return References(config_maps, secrets)

    async def tokens(self, pod: Pod) -> dict[TokenSource, str]:
        return {source: await self._token(pod, source) for source in volumes.token_sources(pod)}

    async def _token(self, pod: Pod, source: TokenSource) -> str:
        bound = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid}
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": [source.audience] if source.audience else [],
                "expirationSeconds": source.expiration_seconds,
                "boundObjectRef": bound,
            },
        }
        answer = await self._client.create(
            SERVICE_ACCOUNTS,
            request,
            namespace=pod.metadata.namespace,
            name=pod.spec.service_account_name or "default",
            subresource="token",
        )
        return str(answer["status"]["token"])

    async def _existing(self, names: Iterable[str], get: Callable[[str], Awaitable[T]]) -> dict[str, T]:
        """Those that exist; what a missing one means is for its reader to say."""

        async def one(name: str) -> tuple[str, T] | None:
            try:
                return name, await get(name)
            except NotFound:
                return None

        return dict(filter(None, await asyncio.gather(*(one(name) for name in sorted(names)))))
