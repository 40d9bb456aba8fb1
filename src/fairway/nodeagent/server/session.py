"""A client and what it talks to in a container, each following the other until one of them ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from fairway.nodeagent.server.conversation import Conversation, Input, InputEnd, Left, Resize

Send = Callable[[int, bytes], Awaitable[None]]


class Party(Protocol):
    """What stands at the container's side: a command that was started, or its own main process."""

    async def tell(self, send: Send) -> int:
        """Send all output; the exit code once all of it is sent."""

    async def feed(self, data: bytes) -> None: ...

    async def end_input(self) -> None: ...

    def resize(self, width: int, height: int) -> None: ...


async def carry(conversation: Conversation, party: Party) -> int | None:
    """The exit code once the party has ended and all it wrote is sent; None if the client left."""
    listening = asyncio.create_task(_listen(conversation, party))
    telling = asyncio.create_task(party.tell(conversation.send))
    done, pending = await asyncio.wait({listening, telling}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return telling.result() if telling in done else None


async def _listen(conversation: Conversation, party: Party) -> None:
    """Until the client leaves."""
    while True:
        for event in await conversation.receive():
            match event:
                case Input(data):
                    await party.feed(data)
                case InputEnd():
                    await party.end_input()
                case Resize(width, height):
                    party.resize(width, height)
                case Left():
                    return
