"""One process namespace for all containers of a Pod (`shareProcessNamespace`).

It lives as long as its first process, which must be none of the Pod's own: those come and go. So a small
container of ours holds it, takes in processes whose parents have ended, and is gone when the Pod's are.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from pathlib import Path

from fairway.images.store import ImageError
from fairway.kernel.processes import group_exists
from fairway.nodeagent.network.pod_network import short
from fairway.nodeagent.pods.container import DEFAULT_PATH
from fairway.nodeagent.pods.model import Run
from fairway.nodeagent.pods.node_services import NodeServices
from fairway.nodeagent.runtime import records
from fairway.nodeagent.runtime.containers import StartError
from fairway.nodeagent.runtime.records import Record
from fairway.nodeagent.runtime.spec import TERMINAL_GROUP, ContainerSpec

FOLDER = "processes"
_IMAGE = "busybox"
# A shell that waits collects every child that ends, also those it was given by the kernel.
_HOLD = "trap 'exit 0' TERM; while :; do sleep 2147483647 & wait; done"


class CannotHold(Exception):
    """The namespace could not be made; the message says why."""


class SharedProcesses:
    def __init__(self, node: NodeServices, pod_folder: Path, uid: str) -> None:
        self._node = node
        self._folder = pod_folder / FOLDER
        self._id = f"{short(uid)}-{FOLDER}"

    async def namespace(self, network_namespace: str) -> str:
        """The path of the Pod's namespace, which is made if it isn't there."""
        run = records.load(self._folder, time.time())
        if run is None or not run.running:
            await self.end()
            run = await self._start(network_namespace)
        return f"/proc/{run.pid}/ns/pid"

    async def _start(self, network_namespace: str) -> Run:
        record = Record(id=self._id, image=_IMAGE, created_at=time.time())
        spec = ContainerSpec(
            args=("/bin/sh", "-c", _HOLD),
            env=(("PATH", DEFAULT_PATH),),
            rootfs=str(self._folder / "rootfs"),
            cgroup=f"{self._node.cgroup}/{self._id}",
            network_namespace=network_namespace,
            no_new_privileges=True,
            read_only_root=True,
            rootless=not group_exists(TERMINAL_GROUP),
        )
        try:
            image = await asyncio.to_thread(self._node.images.resolve, _IMAGE)
            self._folder.mkdir(mode=0o700, parents=True)
            await asyncio.to_thread(self._node.images.hold, image, self._id, self._folder)
            return await self._node.runtime.start(self._folder, record, spec, image)
        except (StartError, ImageError, OSError) as error:
            raise CannotHold(f"no process namespace for the Pod: {error}") from error

    async def end(self) -> None:
        """With everything that still runs in it. None is fine."""
        record = records.read(self._folder)
        run = records.load(self._folder, time.time())
        process = self._node.runtime.process(self._folder, run) if run and run.running else None
        if process:
            process.send(signal.SIGKILL)
            await self._node.runtime.ended(self._folder, process)
            process.close()
        if record:
            await self._node.runtime.remove(self._folder, record.id)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
