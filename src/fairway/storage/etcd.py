"""A store on an etcd v3 cluster, through its JSON gateway: several API servers may share it.

The gateway is etcd's own and speaks the same operations as gRPC, so no further dependency is needed. Every
call goes to the first member that answers.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import aiohttp
import msgspec

from fairway.storage.backend import (
    MARKER,
    Change,
    Compacted,
    Compare,
    CompareFailed,
    Operation,
    Page,
    Put,
    Record,
    Unavailable,
)

Obj = dict[str, Any]

RETRY_SECONDS = 0.2
CALL_SECONDS = 10.0
OUT_OF_RANGE = 11  # gRPC's code for a revision that was compacted


class EtcdBackend:
    def __init__(self, endpoints: Sequence[str]) -> None:
        self._endpoints = [f"http://{endpoint}" for endpoint in endpoints]
        self._session: aiohttp.ClientSession | None = None
        self._revision = 0
        self._compacted = 0

    @classmethod
    def from_url(cls, url: str) -> EtcdBackend:
        """`etcd://host:2379[,host:2379…]`."""
        return cls([part for part in url.removeprefix("etcd://").strip("/").split(",") if part])

    @property
    def revision(self) -> int:
        return self._revision

    @property
    def compacted(self) -> int:
        return self._compacted

    async def open(self) -> None:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CALL_SECONDS)
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(timeout=timeout, connector=connector)
        self._compacted = await self._oldest_revision()
        # A revision is only known to be passed when something at it is seen, so there must be something.
        self._revision = await self.transact([], [Put(MARKER, b"")])

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    async def _oldest_revision(self) -> int:
        """etcd tells its compacted revision only when asked to watch from before it."""
        async for message in self._watch_messages("/", 1):
            result = message.get("result") or {}
            if result.get("canceled"):
                return int(result.get("compact_revision") or 0)
            break
        return 0

    # -- the protocol ----------------------------------------------------------------------------------

    shared = True

    async def latest(self) -> int:
        return self._seen(await self._call("kv/range", {"key": _key(MARKER), "count_only": True}))

    async def get(self, key: str) -> Record | None:
        answer = await self._call("kv/range", {"key": _key(key)})
        self._seen(answer)
        return next((_record(kv) for kv in answer.get("kvs") or ()), None)

    async def range(self, prefix: str, *, revision: int = 0, after: str = "", limit: int = 0) -> Page:
        start = max(prefix or "/", f"{after}\0" if after else "")
        query: Obj = {"key": _key(start), "range_end": _end(prefix or "/")}
        if revision:
            query["revision"] = str(revision)
        if limit:
            query["limit"] = str(limit)
        answer = await self._call("kv/range", query)
        shown = revision or self._seen(answer)
        records = [_record(kv) for kv in answer.get("kvs") or ()]
        return Page(records, shown, int(answer.get("count") or 0) - len(records))

    async def transact(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> int:
        answer = await self._call(
            "kv/txn",
            {
                "compare": [_compare(compare) for compare in compares],
                "success": [_request(operation) for operation in operations],
                "failure": [{"request_range": {"key": _key(compare.key)}} for compare in compares],
            },
        )
        revision = self._seen(answer)
        if not answer.get("succeeded"):
            raise CompareFailed(_first_failure(compares, answer))
        return revision

    async def watch(self, prefix: str, after: int) -> AsyncIterator[list[Change]]:
        """Follows for ever; a connection that breaks is made again where it left off."""
        if after < self._compacted:
            raise Compacted(self._compacted)
        while True:
            with contextlib.suppress(aiohttp.ClientError, OSError, Unavailable):
                async for message in self._watch_messages(prefix, after + 1):
                    result = message.get("result") or {}
                    if compacted := int(result.get("compact_revision") or 0):
                        self._compacted = max(self._compacted, compacted)
                        raise Compacted(compacted)
                    changes = [_change(event) for event in result.get("events") or ()]
                    if changes:
                        after = changes[-1].revision
                        self._revision = max(self._revision, after)
                        yield changes
            await asyncio.sleep(RETRY_SECONDS)

    async def compact(self, revision: int) -> None:
        if revision <= self._compacted:
            return
        with contextlib.suppress(Compacted):
            await self._call("kv/compaction", {"revision": str(revision)})
        self._compacted = max(self._compacted, revision)

    # -- etcd ------------------------------------------------------------------------------------------

    def _seen(self, answer: Obj) -> int:
        revision = int(answer["header"]["revision"])
        self._revision = max(self._revision, revision)
        return revision

    async def _call(self, path: str, body: Obj) -> Obj:
        assert self._session, "open comes first"
        problem = ""
        for endpoint in self._endpoints:
            try:
                async with asyncio.timeout(CALL_SECONDS):
                    async with self._session.post(f"{endpoint}/v3/{path}", json=body) as answer:
                        content = await answer.read()
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                problem = str(error) or type(error).__name__
                continue
            decoded: Obj = msgspec.json.decode(content)
            if answer.status == 200:
                return decoded
            if decoded.get("code") == OUT_OF_RANGE:
                raise Compacted(self._compacted)
            problem = str(decoded.get("message") or decoded)
        raise Unavailable(f"etcd does not answer: {problem}")

    async def _watch_messages(self, prefix: str, start: int) -> AsyncIterator[Obj]:
        assert self._session, "open comes first"
        request = {
            "create_request": {
                "key": _key(prefix or "/"),
                "range_end": _end(prefix or "/"),
                "start_revision": str(start),
            }
        }
        for endpoint in self._endpoints:
            try:
                answer = await self._session.post(f"{endpoint}/v3/watch", json=request)
            except (aiohttp.ClientError, OSError):
                continue
            async with answer:
                waiting = b""
                async for chunk in answer.content.iter_any():
                    *lines, waiting = (waiting + chunk).split(b"\n")
                    for line in lines:
                        if line.strip():
                            yield msgspec.json.decode(line)
            return
        raise Unavailable("etcd does not answer")


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _key(key: str) -> str:
    return _encoded(key.encode())


def _end(prefix: str) -> str:
    """The first key after all that begin with a prefix."""
    data = bytearray(prefix.encode())
    data[-1] += 1
    return _encoded(bytes(data))


def _compare(compare: Compare) -> Obj:
    return {
        "key": _key(compare.key),
        "target": "MOD",
        "result": "EQUAL",
        "mod_revision": str(compare.revision),
    }


def _request(operation: Operation) -> Obj:
    if isinstance(operation, Put):
        return {"request_put": {"key": _key(operation.key), "value": _encoded(operation.value)}}
    return {"request_delete_range": {"key": _key(operation.key)}}


def _first_failure(compares: Sequence[Compare], answer: Obj) -> str:
    """Which key was not as demanded; the transaction's other branch read them all."""
    for compare, response in zip(compares, answer.get("responses") or (), strict=False):
        kvs = (response.get("response_range") or {}).get("kvs") or ()
        found = int(kvs[0]["mod_revision"]) if kvs else 0
        if found != compare.revision:
            return compare.key
    return compares[0].key


def _record(kv: Obj) -> Record:
    return Record(
        base64.b64decode(kv["key"]).decode(),
        base64.b64decode(kv.get("value") or ""),
        int(kv["mod_revision"]),
        int(kv["create_revision"]),
    )


def _change(event: Obj) -> Change:
    kv = event["kv"]
    key, revision = base64.b64decode(kv["key"]).decode(), int(kv["mod_revision"])
    if event.get("type") == "DELETE":
        return Change(revision, key, None, 0)
    return Change(revision, key, base64.b64decode(kv.get("value") or ""), int(kv["create_revision"]))
