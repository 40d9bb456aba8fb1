"""Time that looking at things may take, so that it never becomes what the proxy mostly does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator


class Budget:
    """Allows for what takes time only so often that it takes no more than a share of it."""

    def __init__(self, clock: Callable[[], float], share: float) -> None:
        self._clock, self._share = clock, share
        self._again = 0.0

    def allows(self) -> bool:
        return self._clock() >= self._again

    @contextlib.contextmanager
    def spending(self) -> Iterator[None]:
        began = self._clock()
        yield
        ended = self._clock()
        self._again = ended + (ended - began) / self._share
