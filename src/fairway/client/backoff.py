"""How long to wait before trying again: exponential, jittered, bounded.

Only the arithmetic; whoever waits does the sleeping.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Backoff:
    """Each `next()` lies between `shortest * factor**n` and `1 + jitter` times that, up to `longest`."""

    shortest: float = 0.1
    longest: float = 10.0
    factor: float = 2.0
    jitter: float = 0.5
    random: Callable[[], float] = random.random
    _step: float = 0.0

    def next(self) -> float:
        self._step = min(self._step * self.factor or self.shortest, self.longest)
        return min(self._step * (1 + self.jitter * self.random()), self.longest)

    def reset(self) -> None:
        self._step = 0.0
