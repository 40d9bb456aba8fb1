"""Writing a Pod's status: the latest only, only when it changed, again until the server has it."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import structlog

from fairway.api.resources import PODS
from fairway.client import ApiError, Client, Conflict, NotFound
from fairway.nodeagent.objects import Pod

log = structlog.get_logger()
Json = dict[str, Any]
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 10.0


class PodApi(Protocol):
    """What a worker tells the API server."""

    async def write_status(self, pod: Pod, status: Json) -> None: ...
    async def delete(self, pod: Pod) -> None: ...


class ClientPodApi:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def write_status(self, pod: Pod, status: Json) -> None:
        """The uid guards a namesake that took the Pod's place."""
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid}, "status": status}
        await self._client.patch(
            PODS, meta.name, patch, namespace=meta.namespace, subresource="status", kind="strategic"
        )

    async def delete(self, pod: Pod) -> None:
        meta = pod.metadata
        await self._client.delete(
            PODS, meta.name, namespace=meta.namespace, grace_period_seconds=0, uid=meta.uid
        )


class StatusReporter:
    """`report` from anywhere; `run` writes, until cancelled."""

    def __init__(self, api: PodApi) -> None:
        self._api = api
        self._latest: tuple[Pod, Json] | None = None
        self._pending = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def report(self, pod: Pod, status: Json) -> None:
        if self._latest is not None and status == self._latest[1]:
            return
        self._latest = (pod, status)
        self._idle.clear()
        self._pending.set()

    async def flushed(self) -> None:
        """Until everything reported has been written, or can't ever be."""
        await self._idle.wait()

    async def run(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            await self._pending.wait()
            self._pending.clear()
            if self._latest is None or await self._write(*self._latest):
                pause = _FIRST_PAUSE
                if not self._pending.is_set():
                    self._idle.set()
            else:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                self._pending.set()

    async def _write(self, pod: Pod, status: Json) -> bool:
        """False if it is worth another try."""
        try:
            await self._api.write_status(pod, status)
        except (NotFound, Conflict):
            return True
        except ApiError as error:
            log.warning("status not written", pod=pod.metadata.key, error=str(error))
            return error.status in (400, 403, 404, 422)
        return True


async def delete_until_gone(api: PodApi, pod: Pod) -> None:
    """The last word about a Pod: its object may go."""
    pause = _FIRST_PAUSE
    while True:
        try:
            await api.delete(pod)
        except (NotFound, Conflict):
            return
        except ApiError as error:
            log.warning("pod not deleted", pod=pod.metadata.key, error=str(error))
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            return
