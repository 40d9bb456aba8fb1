"""Taking a cluster off this machine, whether its processes ended well or were killed."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from pathlib import Path

from fairway.cluster import host_network
from fairway.cluster.layout import Layout, balancer_folder
from fairway.cluster.record import Record
from fairway.kernel import namespaces
from fairway.nodeagent.removal import remove_all_pods
from fairway.proxy.userspace.channel import RelayChannel


def tear_down(data: Path, record: Record) -> None:
    """Pods first, as their namespaces hang on the nodes'; then nodes, devices, routes and tables."""
    asyncio.run(_remove_pods(data))
    _end_relays(record.layout)
    host_network.remove(record.layout, record.forwarding_was_off)
    for node in record.layout.nodes:
        shutil.rmtree(balancer_folder(node), ignore_errors=True)
    with contextlib.suppress(OSError):  # another cluster's, or never made
        balancer_folder(record.layout.nodes[0]).parent.rmdir()


def _end_relays(layout: Layout) -> None:
    """In userspace mode a node has one, and it outlives the proxy."""
    for node in layout.nodes:
        if namespaces.exists(node.namespace):
            with contextlib.closing(RelayChannel(namespaces.path_of(node.namespace))) as relay:
                relay.end()


async def _remove_pods(data: Path) -> None:
    nodes = data / "nodes"
    folders = sorted(nodes.iterdir()) if nodes.is_dir() else []
    await asyncio.gather(*(remove_all_pods(folder) for folder in folders))
