"""A client attached to a container's own process: its output from now on, its input if it takes any."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairway.nodeagent.objects import Container
from fairway.nodeagent.runtime.reaper_client import Attachment, ReaperClient, ReaperError
from fairway.nodeagent.server.conversation import (
    STDERR,
    STDOUT,
    Conversation,
    Streams,
    exit_status,
    failure_status,
)
from fairway.nodeagent.server.session import Send, carry
from fairway.nodeagent.server.terminal import set_size, write_all


@dataclass(frozen=True, slots=True)
class AttachRequest:
    container: Container
    folder: Path
    streams: Streams


async def serve(conversation: Conversation, reaper: ReaperClient, request: AttachRequest) -> None:
    """Until the container ends, which is a success whatever its exit code, or the client leaves."""
    await conversation.begin(request.streams)
    try:
        attachment = await reaper.attach(request.folder)
    except ReaperError as error:
        await conversation.finish(failure_status(str(error)))
        return
    try:
        code = await carry(conversation, _Attached(attachment, reaper, request))
    finally:
        attachment.close()
    if code is not None:
        await conversation.finish(exit_status(code))


class _Attached:
    def __init__(self, attachment: Attachment, reaper: ReaperClient, request: AttachRequest) -> None:
        self._attachment = attachment
        self._reaper = reaper
        self._request = request
        streams = request.streams
        self._wanted = {STDOUT: streams.stdout, STDERR: streams.stderr}

    async def tell(self, send: Send) -> int:
        while message := await self._attachment.read():
            if self._wanted.get(message[0]):
                await send(message[0], message[1:])
        return 0

    async def feed(self, data: bytes) -> None:
        """What a container that reads no more is sent is lost."""
        if self._request.streams.stdin and self._attachment.input >= 0:
            try:
                await write_all(self._attachment.input, data)
            except OSError:
                self._attachment.close_input()

    async def end_input(self) -> None:
        """Only a container that takes input once sees its end; on a terminal that is a character (Ctrl-D)."""
        container = self._request.container
        if not container.stdin_once:
            return
        if container.tty:
            await self.feed(b"\x04")
            return
        self._attachment.close_input()
        try:
            await self._reaper.end_input(self._request.folder)
        except ReaperError:
            return

    def resize(self, width: int, height: int) -> None:
        if self._request.container.tty and self._attachment.input >= 0 and width > 0 and height > 0:
            set_size(self._attachment.input, width, height)
