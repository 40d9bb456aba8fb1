"""Taking a cluster off this machine, whether its processes ended well or were killed."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from fairway.cluster import host_network
from fairway.cluster.record import Record
from fairway.kernel import namespaces
from fairway.nodeagent.removal import remove_all_pods
from fairway.proxy.leftovers import CleanupFailed, remove_rules


def tear_down(data: Path, record: Record) -> None:
    """Pods first, as their namespaces hang on the nodes'; then nodes, devices, routes and tables."""
    asyncio.run(_remove_pods(data))
    _end_proxies(record)
    host_network.remove(record.layout, record.forwarding_was_off)


def _end_proxies(record: Record) -> None:
    """Rules go with their namespace. Only the userspace mode has a process that outlives its proxy."""
    if record.proxy_mode != "userspace":
        return
    for node in record.layout.nodes:
        if namespaces.exists(node.namespace):
            with contextlib.suppress(CleanupFailed):
                namespaces.run_inside(namespaces.path_of(node.namespace), remove_rules)


async def _remove_pods(data: Path) -> None:
    nodes = data / "nodes"
    folders = sorted(nodes.iterdir()) if nodes.is_dir() else []
    await asyncio.gather(*(remove_all_pods(folder) for folder in folders))
