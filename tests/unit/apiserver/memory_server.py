"""A whole API server over a store in memory, asked without any network."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

from fairway.apiserver.server import ApiServer
from fairway.apiserver.store import Store
from fairway.httpserver import Peer, Request, Response, Stream

ADMIN = Peer("127.0.0.1", "admin", ("system:masters",))
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}


class Answer:
    """What came back: a whole answer's parts."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.text = response.body.decode()
        self.content_type = response.content_type
        self.headers = response.headers

    @property
    def obj(self) -> Any:
        return json.loads(self.text)

    @property
    def warnings(self) -> list[str]:
        return [value for name, value in self.headers if name == "Warning"]


class Server:
    def __init__(self, application: ApiServer, store: Store, clock: Clock) -> None:
        self.application = application
        self.store = store
        self.clock = clock

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        peer: Peer = ADMIN,
    ) -> Answer:
        response = await self.application.handle(self._request(method, path, body, headers, peer))
        assert isinstance(response, Response)
        return Answer(response)

    async def watch(self, path: str, headers: dict[str, str] | None = None) -> Watch:
        answer = await self.application.handle(self._request("GET", path, None, headers, ADMIN))
        assert isinstance(answer, Stream), answer
        return Watch(answer.chunks)

    def _request(
        self, method: str, path: str, body: Any, headers: dict[str, str] | None, peer: Peer
    ) -> Request:
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        usual = {"accept": "application/json", "user-agent": "tester/1.0"}
        return Request(method, path, {**usual, **(headers or {})}, content, peer)


class Watch:
    """The events of a stream, as they come."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    async def some(self) -> list[Any]:
        """The events of the next piece."""
        piece = await anext(self._chunks)
        return [json.loads(line) for line in piece.splitlines()]

    async def rest(self) -> list[Any]:
        return [json.loads(line) async for piece in self._chunks for line in piece.splitlines()]


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
