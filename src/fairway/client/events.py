"""Events about objects, written in the background: recording one never waits and never fails.

The same event again raises the count of the one already written, as client-go's recorder does.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import msgspec
import structlog

from fairway.api.objects import ObjectMeta, ObjectReference
from fairway.api.resources import EVENTS, Resource
from fairway.api.timestamps import stamp
from fairway.client.errors import ApiError, NotFound
from fairway.client.rest import Client

log = structlog.get_logger()
EventType = Literal["Normal", "Warning"]
_REMEMBERED = 4096
_WAITING = 1000


@dataclass(frozen=True, slots=True)
class _Occurrence:
    about: ObjectReference
    type: EventType
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class _Written:
    name: str
    count: int


def reference(resource: Resource, metadata: ObjectMeta) -> ObjectReference:
    """What an Event's involvedObject says of an object."""
    return ObjectReference(
        kind=resource.kind,
        api_version=resource.api_version,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


class EventRecorder:
    """`record` from anywhere; `run` writes, until cancelled."""

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        host: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._component = component
        self._host = host
        self._now = now
        self._waiting: asyncio.Queue[_Occurrence] = asyncio.Queue(_WAITING)
        self._written: OrderedDict[_Occurrence, _Written] = OrderedDict()

    def record(
        self, about: ObjectReference, reason: str, message: str, *, kind: EventType = "Normal"
    ) -> None:
        """Events are advice to people: when too many wait, further ones are dropped."""
        try:
            self._waiting.put_nowait(_Occurrence(about, kind, reason, message))
        except asyncio.QueueFull:
            log.warning("event dropped", reason=reason, object=about.name)

    async def run(self) -> None:
        while True:
            occurrence = await self._waiting.get()
            try:
                await self._write(occurrence)
            except ApiError as error:
                log.warning("event not written", reason=occurrence.reason, error=str(error))
            finally:
                self._waiting.task_done()

    async def flush(self) -> None:
        """Until everything recorded so far has been written (or given up)."""
        await self._waiting.join()

    async def _write(self, occurrence: _Occurrence) -> None:
        # The object's own revision moves on between two occurrences of one and the same event.
        key = replace(occurrence, about=msgspec.structs.replace(occurrence.about, resource_version=""))
        written = self._written.pop(key, None)
        written = (written and await self._count(occurrence, written)) or await self._create(occurrence)
        self._written[key] = written
        while len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    async def _count(self, occurrence: _Occurrence, written: _Written) -> _Written | None:
        """None if the Event is gone: the server keeps them for an hour only."""
        count = written.count + 1
        patch = {"count": count, "lastTimestamp": self._timestamp()}
        try:
            await self._client.patch(EVENTS, written.name, patch, namespace=_namespace(occurrence.about))
        except NotFound:
            return None
        return _Written(written.name, count)

    async def _create(self, occurrence: _Occurrence) -> _Written:
        name, now = f"{occurrence.about.name}.{time.time_ns():x}", self._timestamp()
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": _namespace(occurrence.about)},
            "involvedObject": occurrence.about,
            "type": occurrence.type,
            "reason": occurrence.reason,
            "message": occurrence.message,
            "source": {"component": self._component} | ({"host": self._host} if self._host else {}),
            "reportingComponent": self._component,
            "reportingInstance": self._host,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        await self._client.create(EVENTS, event, namespace=_namespace(occurrence.about))
        return _Written(name, 1)

    def _timestamp(self) -> str:
        return stamp(self._now().timestamp())


def _namespace(about: ObjectReference) -> str:
    """Events about things without a namespace (Nodes) live in `default`."""
    return about.namespace or "default"
