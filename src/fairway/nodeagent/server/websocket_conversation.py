"""Streams over a WebSocket: every message begins with the number of its channel."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fairway.httpserver import Tunnel
from fairway.nodeagent.server.channels import Channels
from fairway.nodeagent.server.conversation import ERROR, FAREWELL_SECONDS, Event, Left, Streams


class WebSocketConversation:
    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel
        self._channels = Channels()

    async def begin(self, streams: Streams) -> None:
        """Channels are there from the start."""

    async def send(self, channel: int, data: bytes) -> None:
        await self._tunnel.write(self._channels.message(channel, data))

    async def receive(self) -> Sequence[Event]:
        events = self._channels.receive(await self._tunnel.read())
        for reply in self._channels.replies:
            await self._tunnel.write(reply)
        self._channels.replies.clear()
        return events

    async def finish(self, status: bytes) -> None:
        await self.send(ERROR, status)
        await self._tunnel.write(self._channels.close())
        try:
            async with asyncio.timeout(FAREWELL_SECONDS):
                while Left() not in await self.receive():
                    pass
        except (TimeoutError, ConnectionError):
            pass
