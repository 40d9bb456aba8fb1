"""What is observed of a Pod on this node, as immutable values that the planner and the status read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Run:
    """One start of a container. Times are seconds since the epoch, 0 for what hasn't happened."""

    id: str
    attempt: int = 0
    image: str = ""
    image_id: str = ""
    pid: int = 0
    created_at: float = 0
    started_at: float = 0
    finished_at: float = 0
    exit_code: int | None = None
    signal: int = 0
    reason: str = ""
    message: str = ""
    # How many restarts in quick succession led to this one: what the back-off grows with.
    crashes: int = 0

    @property
    def running(self) -> bool:
        return self.started_at > 0 and self.exit_code is None

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a container can't be started right now, and when to try again."""

    reason: str
    message: str = ""
    retry_at: float = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Health:
    """What a running container's probes say; without probes, running is all it takes."""

    started: bool = True
    ready: bool = True
    alive: bool = True
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """`runs` holds the last run of each container that was ever started, `earlier` the one before."""

    pod_ip: str = ""
    sandbox_ready: bool = False
    sandbox_trouble: Waiting | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    earlier: Mapping[str, Run] = field(default_factory=dict)
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    health: Mapping[str, Health] = field(default_factory=dict)

    def healthy(self, name: str) -> Health:
        run = self.runs.get(name)
        if run is None or not run.running:
            return Health(started=False, ready=False, alive=True)
        return self.health.get(name, Health())
