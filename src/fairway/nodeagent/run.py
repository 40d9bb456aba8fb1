"""The node agent, put together: everything is made here, runs side by side, and ends together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ipaddress import IPv4Network

import structlog

from fairway.api.objects import Node
from fairway.api.resources import NODES, PODS
from fairway.client import Client, EventRecorder, Informer, KubeConfig, reference
from fairway.images.resolve import ImageResolver
from fairway.images.store import ImageStore
from fairway.kernel.processes import bounding_set
from fairway.nodeagent.config import Config
from fairway.nodeagent.network.cni_networks import CniNetworks
from fairway.nodeagent.network.node_network import NodeNetwork
from fairway.nodeagent.network.pod_network import Networks, PodNetworks
from fairway.nodeagent.node import machine
from fairway.nodeagent.node.heartbeat import Heartbeat
from fairway.nodeagent.node.registration import Machine, capacity
from fairway.nodeagent.objects import Pod
from fairway.nodeagent.pods.drain_watch import DrainWatch
from fairway.nodeagent.pods.manager import PodManager
from fairway.nodeagent.pods.node_services import EventType, NodeServices
from fairway.nodeagent.pods.reporting import ClientPodApi
from fairway.nodeagent.pods.sandbox import NodeFacts
from fairway.nodeagent.pods.sources import ApiSources
from fairway.nodeagent.registrations import Registrations
from fairway.nodeagent.removal import node_cgroup
from fairway.nodeagent.runtime.capabilities import from_mask
from fairway.nodeagent.runtime.containers import ContainerRuntime
from fairway.nodeagent.server.server import AgentServer

log = structlog.get_logger()
# How often routes and rules are put back though nothing of ours has changed.
_REPAIR_SECONDS = 60.0
# Images that nobody needs any more go this often.
_COLLECT_SECONDS = 300.0


async def run(config: Config, ready: Callable[[], None] = lambda: None) -> None:
    """Until cancelled. Pods go on running then, and the next agent takes them over."""
    config.pods_folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    runtime = ContainerRuntime(config.runtime_folder)
    facts = machine.inspect(config.data, await runtime.runc.version())
    async with Client(KubeConfig.load(config.kubeconfig), component="node") as client:
        await _Agent(config, client, runtime, facts).run(ready)


class _Agent:
    def __init__(self, config: Config, client: Client, runtime: ContainerRuntime, facts: Machine) -> None:
        self._config = config
        self._runtime = runtime
        self._images = ImageResolver(ImageStore(config.images_folder))
        self._networks, self._network = _networks(config)
        self._networks.remember(config.pods_folder)
        self._events = EventRecorder(client, "kubelet", host=config.name)
        self._heartbeat = Heartbeat(client, config, facts)
        self._pods = PodManager(self._services(client, facts))
        self._pod_informer = Informer(client, PODS, type=Pod, field_selector=f"spec.nodeName={config.name}")
        self._node_informer = Informer(client, NODES, type=Node)
        self._network_known = asyncio.Event()
        self._registrations = Registrations(client, config.name)

    def _services(self, client: Client, facts: Machine) -> NodeServices:
        config = self._config
        return NodeServices(
            node_name=config.name,
            pods_folder=config.pods_folder,
            seccomp_folder=config.seccomp_folder,
            cgroup=node_cgroup(config.data),
            facts=NodeFacts(config.node_ip, config.cluster_dns, config.cluster_domain),
            node_capacity=tuple(capacity(config, facts).items()),
            capabilities=from_mask(bounding_set()),
            networks=self._networks,
            publish_ports=self._network.publish_ports if self._network else _nothing,
            runtime=self._runtime,
            images=self._images,
            sources=ApiSources(client),
            api=ClientPodApi(client),
            drain=DrainWatch(client),
            event=self._record,
        )

    def _record(self, pod: Pod, reason: str, message: str, kind: EventType) -> None:
        self._events.record(reference(PODS, pod.metadata), reason, message, kind=kind)

    async def run(self, ready: Callable[[], None]) -> None:
        if self._network:
            await self._network.set_up()
        await self._runtime.reaper.settle()
        server = AgentServer(self._config, self._pods, self._runtime) if self._config.serves else None
        try:
            if server:
                await server.start()
            await self._run(ready)
        finally:
            await self._pods.stop()
            if server:
                await server.stop()

    async def _run(self, ready: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._events.run())
            if self._network:
                group.create_task(self._keep_network(self._network))
            else:
                self._network_known.set()
            group.create_task(self._collect_images())
            group.create_task(self._registrations.run())
            group.create_task(self._node_informer.run())
            group.create_task(self._pod_informer.run())
            group.create_task(self._runtime.reaper.stay(self._pods.adopt_running))
            await self._heartbeat.register()
            group.create_task(self._heartbeat.run())
            await self._pod_informer.synced()
            await self._network_known.wait()
            self._pod_informer.on_change(self._pods.on_change)
            self._pods.remove_orphans()
            log.info("node agent ready", node=self._config.name, pods=len(self._pod_informer.items()))
            ready()

    async def _collect_images(self) -> None:
        while True:
            await asyncio.sleep(_COLLECT_SECONDS)
            try:
                gone = await asyncio.to_thread(self._images.collect)
            except OSError as error:
                log.warning("images not collected", error=str(error))
            else:
                if gone:
                    log.info("images removed", digests=gone)

    async def _keep_network(self, network: NodeNetwork) -> None:
        """Routes and masquerading follow the nodes, and come back if someone takes them away."""
        changed = asyncio.Event()
        self._node_informer.on_change(lambda *_: changed.set())
        await self._node_informer.synced()
        while True:
            forced = not changed.is_set()
            changed.clear()
            await network.refresh(self._node_informer.items().values(), force=forced)
            self._network_known.set()
            try:
                async with asyncio.timeout(_REPAIR_SECONDS):
                    await changed.wait()
            except TimeoutError:
                pass


def _networks(config: Config) -> tuple[Networks, NodeNetwork | None]:
    """With CNI plugins everything between Pods and nodes is theirs."""
    if config.cni_conf_dir:
        return CniNetworks(config.cni_conf_dir, config.cni_bin_dirs), None
    pods = PodNetworks(config.pod_network)
    exceptions = tuple(map(IPv4Network, config.non_masquerade_cidrs))
    return pods, NodeNetwork(config.name, pods, exceptions, config.data)


async def _nothing() -> None:
    """Where there are no ports of ours to publish."""
