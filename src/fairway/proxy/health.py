"""Whether this proxy does its work in time, and whether its node may get new traffic: /healthz and /livez.

As kube-proxy has it: unhealthy is only one whose oldest waiting change has waited too long. The clocks are
passed in; serving is in `pages`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from fairway.api.objects import Node
from fairway.httpserver import Response

TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
# Go's time.Time before anything has been set.
_NEVER = "0001-01-01T00:00:00Z"
_HEADERS = (("X-Content-Type-Options", "nosniff"),)


class Health:
    def __init__(
        self,
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._timeout, self._clock, self._now = timeout, clock, now
        self._waiting_since: float | None = None
        self._updated: datetime | None = None
        self.node_eligible = True

    def queued(self) -> None:
        """A change has come that is not in force yet."""
        if self._waiting_since is None:
            self._waiting_since = self._clock()

    def updated(self) -> None:
        """All that has come is in force."""
        self._waiting_since = None
        self._updated = self._now()

    def node_changed(self, node: Node | None) -> None:
        """A node that is about to go away should get no new traffic from load balancers."""
        taints = (node.spec.taints if node else None) or ()
        self.node_eligible = (
            node is not None
            and node.metadata.deletion_timestamp is None
            and all(taint.key != TO_BE_DELETED for taint in taints)
        )

    @property
    def is_healthy(self) -> bool:
        """Also while starting: until the first state is in force nothing can be late."""
        if self._waiting_since is None or self._updated is None:
            return True
        return self._clock() - self._waiting_since < self._timeout

    def healthz(self) -> Response:
        return self._answer(self.is_healthy and self.node_eligible, {"nodeEligible": self.node_eligible})

    def livez(self) -> Response:
        """The node's fate is no reason to start the proxy anew."""
        return self._answer(self.is_healthy, {})

    def _answer(self, good: bool, more: dict[str, Any]) -> Response:
        now = _spelled(self._now())
        updated = _spelled(self._updated) if self._updated else _NEVER
        families = {"lastUpdated": updated, "healthy": self.is_healthy}
        body = {
            # A healthy proxy counts as up to date at any time.
            "lastUpdated": now if good else updated,
            "currentTime": now,
            **more,
            "healthy": self.is_healthy,
            "status": {"IPv4": families, "IPv6": families},
        }
        return Response(200 if good else 503, msgspec.json.encode(body), headers=_HEADERS)


def _spelled(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
