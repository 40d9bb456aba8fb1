"""Telling nginx what has changed, over its control socket, and asking what it counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import aiohttp
import msgspec

from fairway.ingress.table import Change, keys_to_forget

# A message is at most about this large; larger changes are told in several.
_PIECE = 4 << 20
_SECONDS = 30.0


class ControlError(Exception):
    """nginx can't be told: it is not there, or it has no room."""


class Control:
    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    async def change(self, change: Change) -> None:
        for piece in pieces(change):
            await self._call("POST", "/change", piece)

    async def replace(self, entries: Mapping[str, bytes]) -> None:
        """Whatever nginx holds, only these are in force afterwards. New ones come before old ones go."""
        present = msgspec.json.decode(await self._call("GET", "/keys"), type=list[str])
        await self.change(Change(dict(entries), keys_to_forget(present, entries)))

    async def counts(self) -> str:
        return (await self._call("GET", "/counts")).decode()

    async def _call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(self._socket)))
        try:
            async with asyncio.timeout(_SECONDS):
                async with self._session.request(method, f"http://nginx{path}", data=body) as answer:
                    text = await answer.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ControlError(f"nginx does not answer on {self._socket}: {error}") from error
        if answer.status != 200:
            raise ControlError(f"nginx refused {path}: {text.decode(errors='replace').strip()}")
        return text


def pieces(change: Change) -> Iterator[bytes]:
    """The change as messages; what is to be forgotten comes last."""
    part: dict[str, str] = {}
    size = 0
    for key, text in change.set.items():
        if size > _PIECE:
            yield _message(part, ())
            part, size = {}, 0
        part[key] = text.decode()
        size += len(text)
    yield _message(part, change.forget)


def _message(entries: dict[str, str], forget: tuple[str, ...]) -> bytes:
    return msgspec.json.encode({"set": entries, "forget": forget})
