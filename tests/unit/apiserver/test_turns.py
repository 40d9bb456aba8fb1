"""Rivals for one object all get their turn."""

from __future__ import annotations

import asyncio

from fairway.apiserver.turns import Turns

from .memory_server import MERGE, Server

MAPS = "/api/v1/namespaces/default/configmaps"


async def test_a_hundred_patches_at_once_are_all_kept(server: Server) -> None:
    await server.ask("POST", MAPS, {"metadata": {"name": "a"}})
    patches = [server.ask("PATCH", f"{MAPS}/a", {"data": {f"k{n}": "1"}}, MERGE) for n in range(100)]
    answers = await asyncio.gather(*patches)
    assert {answer.status for answer in answers} == {200}
    assert len((await server.ask("GET", f"{MAPS}/a")).obj["data"]) == 100


async def test_turns_come_in_order_and_leave_nothing_behind() -> None:
    turns, order = Turns(), []

    async def take(number: int) -> None:
        async with turns.of("key"):
            await asyncio.sleep(0)
            order.append(number)

    await asyncio.gather(*(take(number) for number in range(5)))
    assert order == [0, 1, 2, 3, 4]
    assert vars(turns) == {"_locks": {}, "_wanted": {}}
