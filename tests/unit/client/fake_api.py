"""A small API server in the test's own process: Services, revisions, and watches that tests can break."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fairway.api.objects import Service
from fairway.client import Informer

SERVICES_PATH = "/api/v1/services"


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def watches(self) -> bool:
        return self.query.get("watch") == "true"


@dataclass
class FakeApi:
    """`watch_list` says how the server treats sendInitialEvents: "streams", "refuses" or "ignores" it."""

    watch_list: str = "streams"
    revision: int = 100
    oldest: int = 0
    url: str = ""
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    answers: list[web.Response] = field(default_factory=list)
    watchers: dict[asyncio.Queue[bytes | None], web.BaseRequest] = field(default_factory=dict)

    def put(self, name: str, **spec: Any) -> int:
        """Create or change a Service; returns the revision."""
        self.revision += 1
        kind = "MODIFIED" if name in self.objects else "ADDED"
        metadata = {"name": name, "namespace": "default", "resourceVersion": str(self.revision)}
        self.objects[name] = {"metadata": metadata, "spec": spec}
        self._publish(kind, self.objects[name])
        return self.revision

    def remove(self, name: str) -> int:
        self.revision += 1
        last = copy.deepcopy(self.objects.pop(name))
        last["metadata"]["resourceVersion"] = str(self.revision)
        self._publish("DELETED", last)
        return self.revision

    def bookmark(self, ends_initial_events: bool = False) -> dict[str, Any]:
        annotations = {"k8s.io/initial-events-end": "true"} if ends_initial_events else {}
        metadata = {"resourceVersion": str(self.revision), "annotations": annotations}
        return {"type": "BOOKMARK", "object": {"kind": "Service", "metadata": metadata}}

    def send(self, *events: dict[str, Any]) -> None:
        for queue in self.watchers:
            queue.put_nowait(b"".join(map(_line, events)))

    def end_watches(self) -> None:
        for queue in self.watchers:
            queue.put_nowait(None)

    def break_watches(self) -> None:
        for request in self.watchers.values():
            assert request.transport is not None
            request.transport.abort()

    async def watched(self) -> None:
        await eventually(lambda: bool(self.watchers))

    def watches(self) -> list[dict[str, str]]:
        return [request.query for request in self.seen if request.watches]

    def lists(self) -> int:
        return sum(r.method == "GET" and not r.watches for r in self.seen)

    def _publish(self, kind: str, obj: dict[str, Any]) -> None:
        event = {"type": kind, "object": copy.deepcopy(obj)}
        self.history.append((self.revision, kind, event["object"]))
        self.send(event)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append(
            Seen(request.method, request.path, dict(request.query), headers, await request.read())
        )
        if self.answers:
            return self.answers.pop(0)
        if request.path != SERVICES_PATH:
            return status(404, "NotFound", f'services "{request.path.rsplit("/")[-1]}" not found')
        if self.seen[-1].watches:
            return await self._watch(request)
        items = list(self.objects.values())
        return web.json_response({"metadata": {"resourceVersion": str(self.revision)}, "items": items})

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        initial = request.query.get("sendInitialEvents") == "true"
        if initial and self.watch_list == "refuses":
            return status(422, "Invalid", "sendInitialEvents is forbidden for watch")
        since = int(request.query.get("resourceVersion") or 0)
        if since and since < self.oldest:
            return status(410, "Expired", f"too old resource version: {since} ({self.oldest})")
        answer = web.StreamResponse()
        await answer.prepare(request)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        queue.put_nowait(self._backlog(initial, since))
        self.watchers[queue] = request
        try:
            while (data := await queue.get()) is not None:
                await answer.write(data)
        finally:
            del self.watchers[queue]
        return answer

    def _backlog(self, initial: bool, since: int) -> bytes:
        if since:
            events = [{"type": t, "object": o} for revision, t, o in self.history if revision > since]
        else:
            events = [{"type": "ADDED", "object": obj} for obj in self.objects.values()]
        if initial and self.watch_list == "streams":
            events.append(self.bookmark(ends_initial_events=True))
        return b"".join(map(_line, events)) or b"\n"


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode() + b"\n"


def status(code: int, reason: str, message: str = "", **details: Any) -> web.Response:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    return web.json_response(body, status=code)


@asynccontextmanager
async def serving(api: FakeApi) -> AsyncIterator[FakeApi]:
    server = web.Server(api.handle)
    runner = web.ServerRunner(server, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert runner.addresses
    api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield api
    finally:
        await runner.cleanup()


@dataclass
class Follower:
    """An informer of Services at work, its changes in a queue and its waits recorded instead of waited."""

    informer: Informer[Service]
    changes: asyncio.Queue[tuple[str, Service | None, Service | None]] = field(default_factory=asyncio.Queue)
    delays: list[float] = field(default_factory=list)

    async def next(self) -> tuple[str, Service | None, Service | None]:
        return await asyncio.wait_for(self.changes.get(), 5)

    async def next_keys(self, count: int) -> list[str]:
        return [(await self.next())[0] for _ in range(count)]


async def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(5000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came true")
