"""Taking a cluster off this machine, whether its processes ended well or were killed."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from pathlib import Path

from fairway.cluster import host_network
from fairway.cluster.layout import balancer_folder
from fairway.cluster.record import Record
from fairway.nodeagent.removal import remove_all_pods


def tear_down(data: Path, record: Record) -> None:
    """Pods first, as their namespaces hang on the nodes'; then nodes, devices, routes and tables."""
    asyncio.run(_remove_pods(data))
    host_network.remove(record.layout, record.forwarding_was_off)
    for node in record.layout.nodes:
        shutil.rmtree(balancer_folder(node), ignore_errors=True)
    with contextlib.suppress(OSError):  # another cluster's, or never made
        balancer_folder(record.layout.nodes[0]).parent.rmdir()


async def _remove_pods(data: Path) -> None:
    nodes = data / "nodes"
    folders = sorted(nodes.iterdir()) if nodes.is_dir() else []
    await asyncio.gather(*(remove_all_pods(folder) for folder in folders))
