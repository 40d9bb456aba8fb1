"""Real servers that get no new connections and are kept until the last one they have is over.

Knows which and until when; asking the kernel and telling it is the applier's work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from fairway.kernel.ipvs import Load, ServerName, Target

# IPVS itself forgets an idle TCP connection after 15 minutes.
LONGEST = 900.0


class Draining:
    def __init__(self, clock: Callable[[], float], longest: float = LONGEST) -> None:
        self._clock, self._longest = clock, longest
        self._until: dict[ServerName, dict[Target, float]] = {}

    def servers(self) -> Collection[ServerName]:
        return self._until.keys()

    def targets(self, server: ServerName) -> Collection[Target]:
        return self._until.get(server, {}).keys()

    def begin(self, server: ServerName, target: Target) -> None:
        self._until.setdefault(server, {})[target] = self._clock() + self._longest

    def end(self, server: ServerName, target: Target) -> None:
        targets = self._until.get(server, {})
        targets.pop(target, None)
        if not targets:
            self.forget(server)

    def forget(self, server: ServerName) -> None:
        self._until.pop(server, None)

    def due(self, loads: Mapping[ServerName, Mapping[Target, Load]]) -> list[tuple[ServerName, Target]]:
        """Of the servers given, the targets that have no connection left or have had their time."""
        now = self._clock()
        return [
            (name, target)
            for name in self._until.keys() & loads.keys()
            for target, until in self._until[name].items()
            if _is_idle(loads[name].get(target)) or now >= until
        ]


def _is_idle(load: Load | None) -> bool:
    return load is None or load.active + load.inactive == 0
