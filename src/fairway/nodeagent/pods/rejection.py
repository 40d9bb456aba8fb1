"""A Pod that was bound to this node but can't run here: it fails at once, as with kubelet. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NO_FREE_PORTS = (
    "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
)


@dataclass(frozen=True, slots=True)
class Rejected:
    reason: str
    message: str

    def status(self, otherwise: dict[str, Any]) -> dict[str, Any]:
        """What is reported instead of a status without any container: there never will be one."""
        kept = {name: otherwise[name] for name in ("hostIP", "hostIPs", "qosClass", "conditions")}
        for condition in kept["conditions"]:
            if condition["type"] != "PodScheduled":
                condition |= {"status": "False", "reason": "PodFailed", "message": None}
        return kept | {"phase": "Failed", "reason": self.reason, "message": self.message}
