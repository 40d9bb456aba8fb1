"""The DNS component: reads the Corefile, follows the cluster, serves until it is cancelled.

It listens at once: other names are forwarded from the first moment, and names of the cluster are SERVFAIL
until everything has been seen once. After that the API server may go: what was seen last is served.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import glob
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from fairway.client import ClientError, KubeConfig
from fairway.client.progress import Progress
from fairway.dns import corefile, handover, snapshot
from fairway.dns.cluster import WatchedCluster
from fairway.dns.config import Config, usual_corefile
from fairway.dns.corefile import Block
from fairway.dns.metrics import Metrics
from fairway.dns.nodelocal import NodeLocal
from fairway.dns.pages import Pages
from fairway.dns.plugin import Surroundings
from fairway.dns.plugins.forward.options import name_servers
from fairway.dns.server import Server
from fairway.kernel.netlink import KernelNetlink
from fairway.kernel.nftables import LibNftables

log = structlog.get_logger()
_SOCKET = "dns.sock"


async def run(config: Config, ready: Callable[[], None] = lambda: None) -> None:
    """Serves until cancelled; calls `ready` once every plugin is."""
    # What arrives at first stays for long and holds no cycles: looking for garbage in it costs a tenth of a
    # second for nothing.
    gc.set_threshold(50_000, 50, 100)
    async with asyncio.TaskGroup() as tasks:
        node_local = await asyncio.to_thread(_node_local, config)
        component = _Component(config, tasks)
        try:
            predecessor = handover.find(config.data / _SOCKET) if config.data else None
            await component.server.start(predecessor.sockets if predecessor else None)
            await component.until_ready()
            if predecessor:
                await component.server.read()
                predecessor.dismiss()
            gc.freeze()
            log.info("serving", addresses=[f"{host}:{port}" for host, port in component.server.places])
            ready()
            component.offer()
            await component.failure
        finally:
            await (component.server.retire() if component.retired else component.server.stop())
            await component.end()
            if node_local:
                if not component.retired:
                    await asyncio.to_thread(node_local.remove)
                node_local.close()


def _node_local(config: Config) -> NodeLocal | None:
    """This node's own addresses, put in place, if that is wanted."""
    if not config.node_local:
        return None
    made = NodeLocal(KernelNetlink(), LibNftables(), config.node_local, config.port)
    made.put()
    return made


class _Component:
    """What one run holds together."""

    def __init__(self, config: Config, tasks: asyncio.TaskGroup) -> None:
        self._config = config
        self._tasks = tasks
        self._publishing: list[asyncio.Task[None]] = []
        self._following: list[asyncio.Task[None]] = []
        self._clusters: dict[str, WatchedCluster] = {}
        self._filled = asyncio.Event()
        self._progress: Progress | None = None
        self.retired = False
        """Whether a successor has taken over."""
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._metrics = Metrics()
        around = Surroundings(
            cluster=self._cluster,
            read_file=lambda path: Path(path).read_text(),
            clock=time.monotonic,
            reload=self._reload,
            fail=self._fail,
            not_ready=lambda: self.server.not_ready(),
            pages=Pages(next((host for host in (*config.bind, *config.node_local)), "")),
            metrics=self._metrics,
        )
        self.server = Server(self._read, around, config.bind or config.node_local, config.port)

    async def until_ready(self) -> None:
        """Returns once every plugin is ready; raises what makes serving pointless."""
        while self.server.not_ready():
            filled = asyncio.ensure_future(self._filled.wait())
            await asyncio.wait((filled, self.failure), return_when=asyncio.FIRST_COMPLETED)
            filled.cancel()
            self._filled.clear()
            if self.failure.done():
                return

    def offer(self) -> None:
        """From now on a successor may take over."""
        if self._config.data:
            offer = handover.Offer(self._config.data / _SOCKET, self.server.sockets, self._retire)
            self._following.append(self._tasks.create_task(offer.run()))

    def _retire(self) -> None:
        log.info("a successor has taken over")
        self.retired = True
        if self._progress:
            self._progress.stays = True
        if not self.failure.done():
            self.failure.set_result(None)

    async def end(self) -> None:
        """Ends what runs at the side: those first that still have something to say to the API server."""
        for task in (*self._publishing, *self._following):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _reload(self) -> bool:
        return await self.server.reload()

    def _fail(self, error: Exception) -> None:
        if not self.failure.done():
            self.failure.set_exception(error)

    def _read(self) -> tuple[Block, ...]:
        config = self._config
        if config.conf:
            return corefile.parse(config.conf.read_text(), str(config.conf), os.environ, read_imports)
        known = config.upstream or ((str(config.resolv_conf),) if _has_servers(config.resolv_conf) else ())
        return corefile.parse(usual_corefile(config.zone, config.port, known), "Corefile", os.environ)

    def _cluster(self, kubeconfig: str) -> WatchedCluster:
        if kubeconfig == str(self._config.kubeconfig):
            kubeconfig = ""
        if kubeconfig not in self._clusters:
            cluster = WatchedCluster(self._kubeconfig(kubeconfig), self._memory(len(self._clusters)))
            self._clusters[kubeconfig] = cluster
            cluster.on_filled = self._filled.set
            cluster.on_recalled = self._recalled
            self._following.append(self._tasks.create_task(cluster.run()))
            if len(self._clusters) == 1:
                self._publishing.append(self._tasks.create_task(self._publish(cluster)))
        return self._clusters[kubeconfig]

    def _memory(self, number: int) -> Path | None:
        if self._config.data is None:
            return None
        snapshot.prepare(self._config.data)
        return self._config.data / f"dns-{number}.snapshot"

    def _recalled(self, written: float) -> None:
        self._metrics.snapshot_written = written

    def _kubeconfig(self, text: str) -> KubeConfig:
        if text:
            path, *context = text.split()
            return KubeConfig.load(path, *context)
        return KubeConfig.load(self._config.kubeconfig) if self._config.kubeconfig else KubeConfig.from_env()

    async def _publish(self, cluster: WatchedCluster) -> None:
        """Publishes progress, where that is wanted."""
        wanted = self._config.publish_progress
        if wanted is None:
            wanted = await _is_fairway(cluster)
        if wanted:
            progress = self._progress = Progress(cluster.client, f"dns-{self._config.name}")
            cluster.on_programmed = progress.reached
            progress.reached(cluster.programmed)
            await progress.run()


async def _is_fairway(cluster: WatchedCluster) -> bool:
    while True:
        try:
            answer = await cluster.client.request("GET", "/version")
        except ClientError:
            await asyncio.sleep(1.0)
        else:
            return b"fairway" in bytes(answer)


def _has_servers(path: Path) -> bool:
    try:
        return bool(name_servers(path.read_text()))
    except OSError:
        return False


def read_imports(pattern: str, importer: str) -> Sequence[tuple[str, str]]:
    """The files an `import` names, relative to the file it stands in."""
    full = pattern if Path(pattern).is_absolute() else str(Path(importer).parent / pattern)
    return [(path, Path(path).read_text()) for path in sorted(glob.glob(full)) if Path(path).is_file()]
