"""What all Pod workers of a node share, in one value."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from fairway.images.resolve import ImageResolver
from fairway.nodeagent.network.pod_network import Networks
from fairway.nodeagent.objects import Pod
from fairway.nodeagent.pods.reporting import PodApi
from fairway.nodeagent.pods.sandbox import NodeFacts
from fairway.nodeagent.pods.sources import Sources
from fairway.nodeagent.runtime.containers import ContainerRuntime

EventType = Literal["Normal", "Warning"]
RecordEvent = Callable[[Pod, str, str, EventType], None]


class Drain(Protocol):
    async def wait(self, pod: Pod) -> None:
        """Until nobody is led to the Pod any more, or it takes too long."""


@dataclass(frozen=True, slots=True)
class NodeServices:
    node_name: str
    pods_folder: Path
    # Where containers' own seccomp profiles lie (`Localhost`).
    seccomp_folder: Path
    cgroup: str
    facts: NodeFacts
    node_capacity: tuple[tuple[str, str], ...]
    capabilities: frozenset[str]
    networks: Networks
    # Brings the node's own rules up to date with the ports that `networks` has given to Pods.
    publish_ports: Callable[[], Awaitable[None]]
    runtime: ContainerRuntime
    images: ImageResolver
    sources: Sources
    api: PodApi
    drain: Drain
    event: RecordEvent
