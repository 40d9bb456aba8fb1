"""The frame around a controller: failures are tried again, what can't be helped is dropped."""

from __future__ import annotations

import pytest

from fairway.client import ApiError, Conflict, Forbidden, Unavailable
from fairway.controllers.loop import Loop


async def look(outcome: float | Exception | None) -> Loop:
    async def sync(_key: str) -> float | None:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    loop = Loop("test", sync)
    await loop.look_at("shop/web")
    return loop


@pytest.mark.parametrize(
    "failure",
    [Conflict(409), Unavailable(503), ApiError(500), Forbidden(403), ValueError("a bug")],
    ids=lambda failure: type(failure).__name__,
)
async def test_whatever_fails_is_tried_again(failure: Exception) -> None:
    loop = await look(failure)
    assert loop.queue.failures("shop/web") == 1


async def test_in_a_namespace_that_is_going_nothing_is_tried_again() -> None:
    details = {"causes": [{"reason": "NamespaceTerminating"}]}
    loop = await look(Forbidden(403, "Forbidden", "", details))
    assert loop.queue.failures("shop/web") == 0


async def test_success_forgets_failures() -> None:
    loop = await look(None)
    assert loop.queue.failures("shop/web") == 0
    assert len(loop.queue) == 0
