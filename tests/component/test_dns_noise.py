"""Whatever arrives: no crash, no answer to an answer, none too large. `make fuzz` goes on for longer."""

from __future__ import annotations

import pytest

from tests.component.dns_noise import Noise, make_noise


@pytest.mark.parametrize("seed", range(4))
async def test_noise_never_gets_more_than_it_may(seed: int) -> None:
    await make_noise(5_000, seed)


async def test_the_check_can_fail() -> None:
    noise = Noise(0)
    with pytest.raises(AssertionError):
        noise._check_answer(b"\0\x07\x01\0\0\x01" + bytes(11), b"\0\x07\x81\0" + bytes(600))
