"""Containers on this node: starting, watching, signalling and removing them.

Each run of a container has its own folder (`PODS/uid/containers/NAME/ATTEMPT`), which is at the same time
the bundle for runc. The overlay root is only mounted while runc sets the container up: the container's own
mount namespace keeps it from then on, so that nothing of ours stays mounted on the host.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fairway.images.model import Image
from fairway.kernel import cgroups, mounts
from fairway.kernel.processes import Process
from fairway.nodeagent.pods.model import Run
from fairway.nodeagent.runtime import records, runc
from fairway.nodeagent.runtime.reaper import RUNC_FAILED
from fairway.nodeagent.runtime.reaper_client import ReaperClient, ReaperError
from fairway.nodeagent.runtime.records import Record
from fairway.nodeagent.runtime.spec import ContainerSpec, render

# Starting a container is processor work: more at once only makes each of them later.
_STARTS_AT_ONCE = 4
_EXIT_FILE_PATIENCE = 2.0
_EXIT_FILE_PAUSE = 0.005


class StartError(Exception):
    """runc could not start the container; the message is runc's."""


class ContainerRuntime:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.runc = runc.Runc(folder / "runc")
        self.reaper = ReaperClient(folder)
        self._starts = asyncio.Semaphore(_STARTS_AT_ONCE)

    async def start(self, folder: Path, record: Record, spec: ContainerSpec, image: Image) -> Run:
        """`folder` is new and empty. Whatever goes wrong, nothing half-made stays."""
        async with self._starts:
            await asyncio.to_thread(_prepare, folder, record, spec, image)
            try:
                command = self.runc.run_command(record.id, folder)
                await self.reaper.run(folder, command, spec.stdin, spec.tty)
            except ReaperError as error:
                raise await self._failure(folder, record, error) from error
            finally:
                mounts.unmount(folder / "rootfs")
        run = records.load(folder, time.time())
        assert run is not None
        return run

    async def _failure(self, folder: Path, record: Record, error: ReaperError) -> StartError:
        await self.runc.delete(record.id)
        message = runc.last_error(folder) if str(error) == RUNC_FAILED else str(error)
        records.write(folder, msgspec.structs.replace(record, failed_at=time.time(), failure=message))
        return StartError(message)

    def process(self, folder: Path, run: Run) -> Process | None:
        """A handle on a running container; None if it has just ended."""
        try:
            process = Process(run.pid)
        except ProcessLookupError:
            return None
        # Only if it still runs now was the number still its own when we took the handle.
        again = records.load(folder, time.time())
        if again and again.running:
            return process
        process.close()
        return None

    async def ended(self, folder: Path, process: Process) -> Run:
        """Wait until a container has ended and its exit code is known (or known to be lost)."""
        await process.ended()
        return await self.settled(folder)

    async def settled(self, folder: Path) -> Run:
        """The final state of a run whose process is gone: the reaper needs a moment to write it down."""
        for _ in range(round(_EXIT_FILE_PATIENCE / _EXIT_FILE_PAUSE)):
            if (folder / "exit.json").exists():
                break
            await asyncio.sleep(_EXIT_FILE_PAUSE)
        _note_lack_of_memory(folder)
        run = records.load(folder, time.time())
        assert run is not None
        return run

    async def remove(self, folder: Path, container_id: str) -> None:
        """What runc knows of it, its mounts and its files but for the log."""
        await self.runc.delete(container_id)
        await asyncio.to_thread(_remove_files, folder)

    async def execute(self, container_id: str, command: Sequence[str]) -> runc.Completed:
        return await self.runc.execute(container_id, command)


def _note_lack_of_memory(folder: Path) -> None:
    """Only the container's control group tells, and only until it is removed."""
    record = records.read(folder)
    if record and record.cgroup and not record.out_of_memory and cgroups.ran_out_of_memory(record.cgroup):
        records.write(folder, msgspec.structs.replace(record, out_of_memory=True))


def _prepare(folder: Path, record: Record, spec: ContainerSpec, image: Image) -> None:
    for name in ("rootfs", "upper", "work"):
        (folder / name).mkdir(mode=0o755, parents=True, exist_ok=True)
    shutil.copystat(image.rootfs, folder / "upper")
    (folder / "config.json").write_bytes(msgspec.json.encode(render(spec)))
    records.write(folder, record)
    mounts.overlay(folder / "rootfs", lower=[image.rootfs], upper=folder / "upper", work=folder / "work")


def _remove_files(folder: Path) -> None:
    mounts.unmount(folder / "rootfs")
    for name in ("rootfs", "upper", "work"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("stdin", "stdout", "stderr", "console.sock", "config.json"):
        (folder / name).unlink(missing_ok=True)
