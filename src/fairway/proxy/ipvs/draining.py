"""Real servers that get no new connections and are kept until the last one they have is over.

Knows which and until when; asking the kernel and telling it is the applier's work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairway.kernel.ipvs import Load, ServerName, Target

# IPVS itself forgets an idle TCP connection after 15 minutes.
LONGEST = 900.0


class Draining:
    def __init__(self, clock: Callable[[], float], longest: float = LONGEST) -> None:
        self._clock, self._longest = clock, longest
        self._until: dict[tuple[ServerName, Target], float] = {}

    def __contains__(self, key: tuple[ServerName, Target]) -> bool:
        return key in self._until

    def __len__(self) -> int:
        return len(self._until)

    def begin(self, server: ServerName, target: Target) -> None:
        self._until.setdefault((server, target), self._clock() + self._longest)

    def forget(self, server: ServerName, target: Target | None = None) -> None:
        """One real server, or all of a virtual one."""
        for key in [k for k in self._until if k[0] == server and target in (None, k[1])]:
            del self._until[key]

    def due(self, loads: Mapping[ServerName, Mapping[Target, Load]]) -> list[tuple[ServerName, Target]]:
        """Of the servers given, those that have no connection left or have had their time. They are
        forgotten here.
        """
        now, due = self._clock(), []
        for (name, target), until in self._until.items():
            if name in loads and (_is_idle(loads[name].get(target)) or now >= until):
                due.append((name, target))
        for key in due:
            del self._until[key]
        return due


def _is_idle(load: Load | None) -> bool:
    return load is None or load.active + load.inactive == 0
