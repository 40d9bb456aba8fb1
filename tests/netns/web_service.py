"""The Service that most tests of the proxy are about, and what its Pods answer."""

from __future__ import annotations

from typing import Any

from .proxy_nodes import Fleet
from .topology import TARGET, Pod

VIP, VIP6 = "10.96.0.80", "fd00:96::80"


def spec(port: int = 80, protocol: str = "TCP", **more: Any) -> dict[str, Any]:
    node_port = {"nodePort": more.pop("nodePort")} if "nodePort" in more else {}
    entry = {"port": port, "protocol": protocol, "targetPort": TARGET} | node_port
    return {"clusterIP": VIP, "clusterIPs": [VIP, VIP6], "ports": [entry]} | more


def web(fleet: Fleet, chosen: list[Pod], protocol: str = "TCP", **more: Any) -> None:
    fleet.put("web", spec(protocol=protocol, **more))
    fleet.endpoints("web", chosen, TARGET, protocol)


def seen(answer: str) -> str:
    return answer.split()[1]


def name(answer: str) -> str:
    return answer.split()[0]
