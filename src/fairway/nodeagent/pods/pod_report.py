"""What is said of one Pod: made from what is observed, and from what stays so from one report to the next."""

from __future__ import annotations

import time

from fairway.nodeagent.objects import Condition, Pod
from fairway.nodeagent.pods.model import Observed
from fairway.nodeagent.pods.rejection import Rejected
from fairway.nodeagent.pods.reporting import PodApi, StatusReporter
from fairway.nodeagent.pods.status import pod_status, timestamp


class PodReport:
    def __init__(self, pod: Pod, api: PodApi, node_ip: str) -> None:
        self._node_ip = node_ip
        self._reporter = StatusReporter(api)
        self._conditions: dict[str, Condition] = {}
        self._start_time = pod.status.start_time or timestamp(time.time())

    async def run(self) -> None:
        await self._reporter.run()

    async def flushed(self) -> None:
        await self._reporter.flushed()

    def write(self, pod: Pod, seen: Observed, rejection: Rejected | None) -> None:
        known = {c.type: c for c in pod.status.conditions or ()} | self._conditions
        status = pod_status(pod, seen, self._node_ip, time.time(), list(known.values()))
        if rejection:
            status = rejection.status(status)
        status["startTime"] = self._start_time
        self._conditions = {c["type"]: _condition(c) for c in status["conditions"]}
        self._reporter.report(pod, status)


def _condition(written: dict[str, str]) -> Condition:
    return Condition(written["type"], written["status"], last_transition_time=written["lastTransitionTime"])
