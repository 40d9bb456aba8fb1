"""The runs of one Pod's containers: starting them, following each to its end, knowing them again.

Mechanism only: which container to start or stop, and when, is for the worker to say.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import structlog

from fairway.images.model import Image
from fairway.kernel.processes import Process, signal_number
from fairway.nodeagent.network.pod_network import short
from fairway.nodeagent.objects import Pod
from fairway.nodeagent.pods.hooks import cancelled, post_start, run_hook, unless
from fairway.nodeagent.pods.last_words import with_message
from fairway.nodeagent.pods.model import Health, Run
from fairway.nodeagent.pods.status import CONTAINER_ID_SCHEME
from fairway.nodeagent.probes.runner import OnUnhealthy, ProbeRunner
from fairway.nodeagent.runtime import records
from fairway.nodeagent.runtime.containers import ContainerRuntime, StartError
from fairway.nodeagent.runtime.records import Record
from fairway.nodeagent.runtime.spec import ContainerSpec

log = structlog.get_logger()


class ContainerRuns:
    def __init__(
        self,
        folder: Path,
        runtime: ContainerRuntime,
        on_change: Callable[[], None],
        on_unhealthy: OnUnhealthy,
    ) -> None:
        self._folder = folder / "containers"
        self._runtime = runtime
        self._on_change = on_change
        self._on_unhealthy = on_unhealthy
        self._processes: dict[str, Process] = {}
        self._probes: dict[str, ProbeRunner] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._abandoned = asyncio.Event()
        self.latest: dict[str, Run] = {}
        self.earlier: dict[str, Run] = {}

    def folder_of(self, container: str, attempt: int) -> Path:
        return self._folder / container / str(attempt)

    def health(self) -> dict[str, Health]:
        return {name: runner.health for name, runner in self._probes.items()}

    # -- knowing again -----------------------------------------------------------------------------------

    async def restore(self, pod: Pod, pod_ip: str) -> None:
        """Take over what an earlier agent left; nothing is restarted because of us."""
        for folder in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            for attempt in records.attempts(folder):
                await self._restore_run(folder.name, attempt)
        for name, run in self.latest.items():
            if run.running:
                self._follow(pod, name, run, pod_ip, _health_reported(pod, name, run))

    async def _restore_run(self, name: str, folder: Path) -> None:
        run = records.load(folder, time.time())
        if run is None:
            await self._discard(folder)
            return
        if run.reason == "ContainerStatusUnknown":
            # Perhaps it ended this very moment and the reaper is about to write how.
            run = await self._runtime.settled(folder)
        if name in self.latest:
            self.earlier[name] = self.latest[name]
        self.latest[name] = with_message(run, folder)
        if not run.running:
            await self._runtime.remove(folder, run.id)

    async def _discard(self, folder: Path) -> None:
        """A start that was cut short before there was a process."""
        if record := records.read(folder):
            await self._runtime.remove(folder, record.id)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    # -- one run -----------------------------------------------------------------------------------------

    def new_folder(self, container: str, attempt: int) -> Path:
        """With only the run before kept beside it, for `logs --previous`."""
        parent = self._folder / container
        folder = parent / str(attempt)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        for old in records.attempts(parent):
            if int(old.name) < attempt - 1:
                shutil.rmtree(old, ignore_errors=True)
        message = folder / "termination-message"
        message.touch()
        message.chmod(0o666)
        return folder

    async def start(
        self, pod: Pod, container: str, record: Record, spec: ContainerSpec, image: Image, pod_ip: str
    ) -> Run:
        """A start that fails is a run too: it ended with code 128, and its message says why."""
        folder = self.folder_of(container, record.attempt)
        if previous := self.latest.get(container):
            self.earlier[container] = previous
        try:
            run = await self._runtime.start(folder, record, spec, image)
        except StartError:
            loaded = records.load(folder, time.time())
            assert loaded is not None
            run = loaded
        complaint = await self._post_start(pod, container, run, pod_ip) if run.running else None
        self.latest[container] = run
        if run.running:
            self._follow(pod, container, run, pod_ip)
        elif run.started_at:
            await self._finish(container, folder)
        if complaint:
            await self._fail(pod, container, complaint)
        return self.latest[container]

    async def _post_start(self, pod: Pod, name: str, run: Run, pod_ip: str) -> str | None:
        """It counts as started only after its hook, unless it ends before that, or the Pod is to end."""
        container = pod.container(name)
        hook = post_start(container) if container else None
        process = self._runtime.process(self.folder_of(name, run.attempt), run) if hook else None
        if container is None or hook is None or process is None:
            return None
        execute = partial(self._runtime.execute, run.id)
        hooking = asyncio.create_task(run_hook(hook, container, pod_ip, execute))
        try:
            return await unless(hooking, process.ended(), self._abandoned.wait())
        finally:
            process.close()

    async def _fail(self, pod: Pod, name: str, complaint: str) -> None:
        await self.stop(name, pod.spec.termination_grace_period_seconds)
        self.latest[name] = replace(self.latest[name], reason="PostStartHookError", message=complaint)

    def abandon(self) -> None:
        """The Pod is to end: nobody waits for hooks of a start any more."""
        self._abandoned.set()

    def _follow(self, pod: Pod, name: str, run: Run, pod_ip: str, before: Health | None = None) -> None:
        """From now on until its end. The probes are there at once: without them it would count as ready."""
        folder = self.folder_of(name, run.attempt)
        process = self._runtime.process(folder, run)
        if process:
            self._processes[name] = process
        probes = self._make_probes(pod, name, run, pod_ip, before)
        self._tasks[name] = asyncio.create_task(self._until_end(name, folder, process, probes))

    async def _until_end(
        self, name: str, folder: Path, process: Process | None, probes: ProbeRunner | None
    ) -> None:
        probing = asyncio.create_task(probes.run() if probes else asyncio.sleep(0))
        try:
            if process:
                await process.ended()
        finally:
            self._probes.pop(name, None)
            self._processes.pop(name, None)
            if process:
                process.close()
            # Waited for, so that no check is left half done: it may be a process of ours.
            probing.cancel()
            await asyncio.gather(probing, return_exceptions=True)
        await self._finish(name, folder)
        self._on_change()

    async def _finish(self, name: str, folder: Path) -> None:
        run = await self._runtime.settled(folder)
        self.latest[name] = with_message(run, folder)
        await self._runtime.remove(folder, run.id)

    def _make_probes(
        self, pod: Pod, name: str, run: Run, pod_ip: str, before: Health | None
    ) -> ProbeRunner | None:
        """None for a container of an orphan, whose Pod nobody knows any more."""
        container = pod.container(name)
        if container is None:
            return None
        self._probes[name] = ProbeRunner(
            container,
            pod_ip,
            run.started_at,
            lambda command: self._runtime.execute(run.id, command),
            self._on_change,
            self._on_unhealthy,
            before,
        )
        return self._probes[name]

    # -- ending ------------------------------------------------------------------------------------------

    def running(self) -> list[str]:
        return [name for name, run in self.latest.items() if run.running]

    async def stop(self, name: str, grace_seconds: float | None = None) -> None:
        """The container's stop signal, SIGKILL after the time given; returns once its end is known."""
        run = self.latest.get(name)
        if run is None or not run.running:
            return
        record = records.read(self.folder_of(name, run.attempt))
        wish = record.stop_signal if record else ""
        self.send(name, signal_number(wish) if wish else signal.SIGTERM)
        await asyncio.wait([self._tasks[name]], timeout=grace_seconds)
        await self.kill(name)

    async def unless_ended(self, name: str, work: asyncio.Task[None]) -> None:
        """Until the work is done; it is dropped when the container ends before."""
        try:
            await asyncio.wait([self._tasks[name], work], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancelled(work)

    async def kill(self, name: str) -> None:
        if self.latest[name].running:
            self.send(name, signal.SIGKILL)
            await asyncio.wait([self._tasks[name]])

    def send(self, name: str, number: int) -> None:
        if process := self._processes.get(name):
            process.send(number)

    async def forget(self) -> None:
        """Stop following; containers go on running. For an agent that ends."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


def _health_reported(pod: Pod, name: str, run: Run) -> Health | None:
    """What was last said of a container that goes on running: it stays so until its probes say otherwise."""
    for status in pod.status.container_statuses or ():
        if status.name == name and status.container_id == CONTAINER_ID_SCHEME + run.id:
            return Health(started=bool(status.started), ready=status.ready)
    return None


def container_id(pod_uid: str, container: str, attempt: int) -> str:
    """Unique on the machine, and readable in `runc list`."""
    return f"{short(pod_uid)}-{container}-{attempt}"
