"""The course of one probe, without I/O: results and times in, outcome and the time of the next check out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from fairway.nodeagent.objects import Probe

# A container that isn't ready yet is asked more often than its period says, to become ready sooner
# (Kubernetes reserves that right too); each pause is twice the one before.
_FIRST_PAUSE = 0.1


class Kind(Enum):
    STARTUP = "Startup"
    LIVENESS = "Liveness"
    READINESS = "Readiness"


@dataclass(frozen=True, slots=True)
class ProbeState:
    """`outcome` is None until enough results agree."""

    kind: Kind
    next_at: float
    outcome: bool | None = None
    successes: int = 0
    failures: int = 0


def begin(kind: Kind, probe: Probe, started_at: float, now: float) -> ProbeState:
    """Containers found running after a restart of ours may be long past their initial delay."""
    return ProbeState(kind, max(started_at + probe.initial_delay_seconds, now))


def after(state: ProbeState, probe: Probe, succeeded: bool, now: float) -> ProbeState:
    """The state once a check that began at `now` has given its result."""
    if succeeded:
        successes = state.successes + 1
        passed = successes >= max(1, probe.success_threshold)
        state = replace(state, successes=successes, failures=0, outcome=True if passed else state.outcome)
    else:
        failures = state.failures + 1
        failed = failures >= max(1, probe.failure_threshold)
        state = replace(state, successes=0, failures=failures, outcome=False if failed else state.outcome)
    return replace(state, next_at=now + _pause(state, probe))


def _pause(state: ProbeState, probe: Probe) -> float:
    period = float(max(1, probe.period_seconds))
    eager = state.kind is Kind.READINESS and state.outcome is not True and state.failures > 0
    return min(period, _FIRST_PAUSE * 2.0 ** min(state.failures - 1, 32)) if eager else period
