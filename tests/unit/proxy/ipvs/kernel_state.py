"""What a node in ipvs mode has in its fake kernel, made comparable.

Two ways of getting to the same Services may differ in two things: in the numbers of marks, which are as good
as any other, and in real servers that are being drained. The first are told apart by the addresses that lead
to them; the second must be named, each one, by whoever compares. Nothing else is evened out.
"""

from __future__ import annotations

from collections.abc import Collection

from fairway.kernel.ipvs import ServerName, Target

from .node import Node

Leaving = Collection[tuple[ServerName, Target]]
_MARKED = {4: "KUBE-INTERNAL", 6: "KUBE-6-INTERNAL"}


def state(node: Node, leaving: Leaving = ()) -> dict[str, object]:
    """Without the real servers that are `leaving`, and servers that have no others."""
    return {
        "servers": sorted(_servers(node, leaving)),
        "sets": {name: (node.ipset.kinds[name], _entries(node, name)) for name in node.ipset.kinds},
        "rules": node.iptables.tables,
        "addresses": node.device.held,
        "settings": node.sysctls.values,
    }


def drained(node: Node) -> set[tuple[ServerName, Target]]:
    """The real servers that get no new connections."""
    return {
        (name, target)
        for name, server in node.ipvs.held().items()
        for target, load in server.targets.items()
        if load.weight == 0
    }


def _servers(node: Node, leaving: Leaving) -> list[tuple[object, ...]]:
    last = {name for name, _ in leaving}
    found: list[tuple[object, ...]] = []
    for name, server in node.ipvs.held().items():
        weights = [
            (target, load.weight) for target, load in server.targets.items() if (name, target) not in leaving
        ]
        if weights or name not in last:
            known_by = name._replace(mark=bool(name.mark))
            found.append((known_by, _leading_to(node, name), server.balancing, sorted(weights)))
    return found


def _leading_to(node: Node, name: ServerName) -> list[tuple[str, str, int]]:
    """The addresses and ports whose clients inside the cluster get a server's mark."""
    entries = node.ipset.members[_MARKED[name.version]] if name.mark else ()
    return sorted((e.address, e.protocol, e.port) for e in entries if e.mark == name.mark)


def _entries(node: Node, name: str) -> set[tuple[object, ...]]:
    return {entry._replace(mark=bool(entry.mark)) for entry in node.ipset.members[name]}
