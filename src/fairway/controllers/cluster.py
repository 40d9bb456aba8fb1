"""What all controllers of a process share: caches, the way to write, a recorder of Events, the clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar, cast

import msgspec

from fairway.api.objects import ObjectMeta, View
from fairway.api.resources import Resource
from fairway.client import Client, Conflict, EventRecorder, Informer, NotFound, reference
from fairway.controllers.cache import Cache, Item
from fairway.controllers.writes import Create, Delete, Notice, Patch, Write

T = TypeVar("T", bound=Item)
S = TypeVar("S")


class Bare(View, frozen=True):
    """An object of which only its metadata matters."""

    metadata: ObjectMeta = ObjectMeta()


class Cluster:
    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        now: Callable[[], float] = time.time,
        informer: Callable[..., Informer[Any]] = Informer,
    ) -> None:
        self.client = client
        self.now = now
        self._informer = informer
        self._recorder = recorder
        self._informers: list[Informer[Any]] = []
        self._caches: dict[tuple[Resource, str], Cache[Any]] = {}
        self._shared: dict[Any, Any] = {}

    # ---- reading ----

    def cache(
        self,
        resource: Resource,
        type_: type[T],
        *,
        namespace: str | None = None,
        field_selector: str | None = None,
    ) -> Cache[T]:
        """The cache of a resource, or of a part of it; whoever asks again gets the same one."""
        key = (resource, f"{namespace or ''}{field_selector or ''}")
        if key not in self._caches:
            informer = self._informer(
                self.client, resource, type=type_, namespace=namespace, field_selector=field_selector
            )
            self._informers.append(informer)
            self._caches[key] = Cache[T](informer, type_)
        found = self._caches[key]
        if found.type is not type_:
            raise TypeError(f"{resource.plural} are cached as {found.type.__name__}, not {type_.__name__}")
        return found

    def metadata(self, resource: Resource) -> Cache[Item]:
        """A cache to read metadata from: whichever there is, or one that holds nothing else."""
        return cast("Cache[Item]", self._caches.get((resource, "")) or self.cache(resource, Bare))

    def shared(self, make: Callable[[Cluster], S]) -> S:
        """What `make` makes of this cluster, made once: indexes that several controllers look into."""
        if make not in self._shared:
            self._shared[make] = make(self)
        return cast("S", self._shared[make])

    def start(self, group: asyncio.TaskGroup) -> None:
        for informer in self._informers:
            group.create_task(informer.run())

    async def synced(self) -> None:
        for informer in self._informers:
            await informer.synced()

    # ---- writing ----

    async def apply(self, writes: Iterable[Write]) -> None:
        """One after the other; the first that fails ends it, and the next look plans anew."""
        for write in writes:
            await self.write(write)

    async def write(self, write: Write) -> str:
        """Returns the name of the object written, which the server may have generated."""
        match write:
            case Create():
                return await self._create(write)
            case Patch():
                await self._patch(write)
            case Delete():
                await self._delete(write)
        return write.name

    async def check_alive(self, resource: Resource, owner: ObjectMeta) -> None:
        """Asks the server itself before an adoption: an owner that is going must not take more with it."""
        live = await self.client.get(resource, owner.name, namespace=owner.namespace or None, type=Bare)
        if live.metadata.uid != owner.uid or live.metadata.deletion_timestamp is not None:
            raise Conflict(409, "Conflict", f"{owner.key} is another one or going, it adopts nothing")

    def tell(self, resource: Resource, about: ObjectMeta, notices: Iterable[Notice]) -> None:
        for notice in notices:
            kind: Literal["Normal", "Warning"] = "Warning" if notice.warning else "Normal"
            self._recorder.record(reference(resource, about), notice.reason, notice.message, kind=kind)

    async def _create(self, write: Create) -> str:
        cache = self._caches.get((write.resource, ""))
        made = await self.client.create(
            write.resource,
            write.obj,
            namespace=write.namespace or None,
            name=write.name if write.subresource else None,
            subresource=write.subresource or None,
            type=cache.type if cache and not write.subresource else dict[str, Any],
        )
        if write.subresource:
            return write.name
        if cache is None:
            return str(made["metadata"]["name"])
        cache.wrote(made)
        return str(made.metadata.name)

    async def _patch(self, write: Patch) -> None:
        cache = self._caches.get((write.resource, ""))
        made = await self.client.patch(
            write.resource,
            write.name,
            write.patch,
            namespace=write.namespace or None,
            subresource=write.subresource or None,
            type=cache.type if cache else dict[str, Any],
        )
        if cache:
            cache.wrote(made)

    async def _delete(self, write: Delete) -> None:
        """What is gone already is as good as deleted."""
        try:
            answer = await self.client.delete(
                write.resource,
                write.name,
                namespace=write.namespace or None,
                uid=write.uid or None,
                resource_version=write.resource_version or None,
                propagation_policy=cast("Any", write.propagation),
                grace_period_seconds=write.grace_period_seconds,
            )
        except NotFound:
            answer = {}
        if cache := self._caches.get((write.resource, "")):
            _note_deletion(cache, write, answer)


def _note_deletion(cache: Cache[Any], write: Delete, answer: dict[str, Any]) -> None:
    """An answer that shows the object going says it is still there: waiting for its grace, or a finalizer."""
    metadata = answer.get("metadata") or {}
    if metadata.get("uid") and metadata.get("deletionTimestamp"):
        cache.wrote(msgspec.convert(answer, type=cache.type))
    else:
        key = f"{write.namespace}/{write.name}" if write.namespace else write.name
        cache.gone(key, write.uid)
