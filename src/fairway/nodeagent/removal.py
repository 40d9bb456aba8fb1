"""Taking every Pod of a node off the machine, without an API server and from any network namespace.

For `fairway down` and `fairway node --cleanup`: containers, their namespaces, cgroups, mounts and files, and
the reaper. The node's own devices and tables go with its namespace, or by `NodeNetwork.take_down`.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import time
from pathlib import Path

import msgspec
import structlog

from fairway.kernel import cgroups, mounts, namespaces
from fairway.nodeagent.network import cni_networks, pod_network
from fairway.nodeagent.network.cni import CniError
from fairway.nodeagent.pods.shared_processes import FOLDER
from fairway.nodeagent.runtime import records
from fairway.nodeagent.runtime.runc import Runc

log = structlog.get_logger()
CGROUP_ROOT = "/fairway"
_AT_ONCE = 4


def node_cgroup(data: Path) -> str:
    """One group for each data folder, which names a node of one cluster on this machine."""
    return f"{CGROUP_ROOT}/{pod_network.digest(str(data.resolve()))}"


async def remove_all_pods(data: Path, cni_bin_dirs: tuple[Path, ...] = ()) -> None:
    """`data` is a node agent's folder. The agent itself must have ended."""
    runc, limit = Runc(data / "runtime" / "runc"), asyncio.Semaphore(_AT_ONCE)
    folders = sorted((data / "pods").iterdir()) if (data / "pods").is_dir() else []

    async def remove(folder: Path) -> None:
        async with limit:
            await _remove_pod(runc, folder, cni_bin_dirs)

    await asyncio.gather(*(remove(folder) for folder in folders))
    await asyncio.to_thread(end_reaper, data / "runtime")
    left = await asyncio.to_thread(cgroups.remove, node_cgroup(data))
    await asyncio.to_thread(cgroups.remove_if_empty, CGROUP_ROOT)
    if left:
        log.warning("control groups stay", folders=[str(folder) for folder in left])


async def _remove_pod(runc: Runc, folder: Path, cni_bin_dirs: tuple[Path, ...]) -> None:
    for run in (*(folder / "containers").glob("*/*"), folder / FOLDER):
        if record := records.read(run):
            await runc.delete(record.id)
    try:
        await asyncio.to_thread(cni_networks.detach, folder, cni_bin_dirs)
    except CniError as error:
        log.warning("network not given back", pod=folder.name, error=str(error))
    await asyncio.to_thread(_remove_rest, folder)


def _remove_rest(folder: Path) -> None:
    namespace, _ = pod_network.names_for(folder.name)
    namespaces.delete(namespace)
    for point in mounts.mounted_under(folder):
        mounts.unmount(point)
    shutil.rmtree(folder, ignore_errors=True)


class _Reaper(msgspec.Struct, frozen=True):
    pid: int


def end_reaper(folder: Path, seconds: float = 2.0) -> None:
    """Its containers are gone, so it would end by itself soon; this only hastens it."""
    try:
        lock = os.open(folder / "reaper.lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        deadline = time.monotonic() + seconds
        while not _is_free(lock) and time.monotonic() < deadline:
            _terminate_reaper(folder)
            time.sleep(0.01)
    finally:
        os.close(lock)


def _terminate_reaper(folder: Path) -> None:
    """Whoever holds the lock has removed the file of the one before, so the number is its own."""
    try:
        reaper = msgspec.json.decode((folder / "reaper.json").read_bytes(), type=_Reaper)
        os.kill(reaper.pid, signal.SIGTERM)
    except (FileNotFoundError, ProcessLookupError, msgspec.MsgspecError):
        pass


def _is_free(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
