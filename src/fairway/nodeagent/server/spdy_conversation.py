"""Streams over SPDY/3.1, for kubectl before 1.30: the client opens one for each, named in its headers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fairway.httpserver import Tunnel
from fairway.nodeagent.server import spdy
from fairway.nodeagent.server.conversation import (
    ERROR,
    FAREWELL_SECONDS,
    RESIZE,
    STDERR,
    STDIN,
    STDOUT,
    Event,
    Input,
    InputEnd,
    Left,
    Streams,
    resize,
)

_STREAM_TYPES = {"stdin": STDIN, "stdout": STDOUT, "stderr": STDERR, "error": ERROR, "resize": RESIZE}
_OPENING_SECONDS = 30.0


def expected_channels(streams: Streams) -> set[int]:
    wanted = {STDIN: streams.stdin, STDOUT: streams.stdout, STDERR: streams.stderr, RESIZE: streams.tty}
    return {ERROR} | {channel for channel, asked in wanted.items() if asked}


class SpdyConversation:
    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel
        self._connection = spdy.SpdyConnection()
        self._streams: dict[int, int] = {}
        self._sizes = b""
        self._waiting: list[Event] = []

    async def begin(self, streams: Streams) -> None:
        """What comes before the last stream is there is kept for `receive`."""
        expected = expected_channels(streams)
        try:
            async with asyncio.timeout(_OPENING_SECONDS):
                while not expected <= self._streams.keys():
                    self._waiting += await self._next_events()
                    if Left() in self._waiting:
                        raise ConnectionResetError("the client left before its streams were open")
        except TimeoutError as error:
            raise ConnectionResetError("the client did not open its streams") from error

    async def send(self, channel: int, data: bytes) -> None:
        """What a client has closed its ears to is lost."""
        if stream := self._streams.get(channel):
            await self._tunnel.write(self._connection.data(stream, data))

    async def receive(self) -> Sequence[Event]:
        if self._waiting:
            events, self._waiting = self._waiting, []
            return events
        return await self._next_events()

    async def finish(self, status: bytes) -> None:
        """Outputs end before the status comes: that is how the client knows that it has all of them."""
        ends = [
            self._connection.data(self._streams[channel], b"", ended=True)
            for channel in (STDOUT, STDERR)
            if channel in self._streams
        ]
        if ERROR in self._streams:
            ends.append(self._connection.data(self._streams[ERROR], status, ended=True))
        await self._tunnel.write(b"".join(ends))
        try:
            async with asyncio.timeout(FAREWELL_SECONDS):
                while Left() not in await self.receive():
                    pass
        except (TimeoutError, ConnectionError):
            pass

    async def _next_events(self) -> list[Event]:
        data = await self._tunnel.read()
        if not data:
            return [Left()]
        events: list[Event] = []
        replies = b""
        try:
            for event in self._connection.receive(data):
                if isinstance(event, spdy.Opened):
                    replies += self._opened(event)
                else:
                    events += self._meaning(event)
        except spdy.SpdyError:
            return [*events, Left()]
        replies += b"".join(self._connection.replies)
        self._connection.replies.clear()
        if replies:
            await self._tunnel.write(replies)
        return events

    def _opened(self, event: spdy.Opened) -> bytes:
        channel = _STREAM_TYPES.get(event.headers.get("streamtype", ""))
        if channel is None or channel in self._streams:
            return self._connection.reset(event.stream, spdy.REFUSED_STREAM)
        self._streams[channel] = event.stream
        return self._connection.reply(event.stream)

    def _meaning(self, event: spdy.Event) -> list[Event]:
        match event:
            case spdy.Data(stream, data, ended) if stream == self._streams.get(STDIN):
                events: list[Event] = [Input(data)] if data else []
                return [*events, InputEnd()] if ended else events
            case spdy.Data(stream, data) if stream == self._streams.get(RESIZE):
                return self._resized(data)
            case spdy.Reset(stream):
                self._streams = {c: s for c, s in self._streams.items() if s != stream}
        return []

    def _resized(self, data: bytes) -> list[Event]:
        """One JSON object a line."""
        *lines, self._sizes = (self._sizes + data).split(b"\n")
        return [event for line in lines for event in resize(line)]
