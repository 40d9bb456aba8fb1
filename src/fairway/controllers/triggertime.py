"""Which change an endpoints object answers to: its annotation `last-change-trigger-time`.

Latency is measured from it. It is the earliest of the changes that came since the last look: a Service made,
a Pod's readiness turned. State for one controller; no clock, the times are those in the objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairway.api.objects import Pod, Service


@dataclass(frozen=True, slots=True)
class Observation:
    """What a look found, and the trigger it names: None if nothing that has a time changed since the last."""

    trigger: str | None
    service: str
    pods: dict[str, str]


class TriggerTimes:
    """Times are compared as text: the API writes them all in UTC and in one format."""

    def __init__(self) -> None:
        self._last: dict[str, Observation] = {}

    def observe(self, service: Service, pods: Iterable[Pod]) -> Observation:
        created = service.metadata.creation_timestamp or ""
        turned = {pod.metadata.name: time for pod in pods if (time := _readiness_turned(pod))}
        before = self._last.get(service.metadata.key)
        if before is None:
            return Observation(created or None, created, turned)
        changed = [time for name, time in turned.items() if time > before.pods.get(name, "")]
        if created > before.service:
            changed.append(created)
        return Observation(min(changed, default=None), created, turned)

    def written(self, service: Service, observation: Observation) -> None:
        """To be called once the writes are made; until then the next look finds the same trigger."""
        self._last[service.metadata.key] = observation

    def forget(self, key: str) -> None:
        self._last.pop(key, None)


def _readiness_turned(pod: Pod) -> str | None:
    condition = pod.status.condition("Ready")
    return condition.last_transition_time if condition else None
