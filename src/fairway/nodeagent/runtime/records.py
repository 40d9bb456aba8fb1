"""What is on disk about one run of a container, by which a restarted agent knows it again.

record.json    ours, written before anything is started
process.json   the reaper's, once it runs
exit.json      the reaper's, once it has ended
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import msgspec

from fairway.nodeagent.pods.model import Run

T = TypeVar("T")
_KILLED = 137
_START_FAILED = 128


class Record(msgspec.Struct, frozen=True):
    id: str
    attempt: int = 0
    image: str = ""
    image_id: str = ""
    crashes: int = 0
    created_at: float = 0
    stop_signal: str = ""
    # Where a container that failed without a message is quoted from its log instead.
    message_from_log: bool = False
    cgroup: str = ""
    out_of_memory: bool = False
    # A start that runc refused: there will never be a process.
    failed_at: float = 0
    failure: str = ""


class _Process(msgspec.Struct, frozen=True, rename="camel"):
    pid: int
    start_time: int = 0
    started_at: float = 0


class _Exit(msgspec.Struct, frozen=True, rename="camel"):
    exit_code: int
    signal: int = 0
    finished_at: float = 0


def write(folder: Path, record: Record) -> None:
    new = folder / "record.json.new"
    new.write_bytes(msgspec.json.encode(record))
    os.replace(new, folder / "record.json")


def read(folder: Path) -> Record | None:
    return _read(folder / "record.json", Record)


def attempts(container_folder: Path) -> Iterator[Path]:
    """The folders of a container's runs, the oldest first."""
    numbers = sorted(int(entry.name) for entry in container_folder.iterdir() if entry.name.isdecimal())
    return (container_folder / str(number) for number in numbers)


def load(folder: Path, now: float) -> Run | None:
    """One run as it stands now; None if it never got as far as having a process."""
    record = read(folder)
    if record is None:
        return None
    run = Run(
        id=record.id,
        attempt=record.attempt,
        image=record.image,
        image_id=record.image_id,
        created_at=record.created_at,
        crashes=record.crashes,
    )
    if record.failed_at:
        return replace(
            run,
            finished_at=record.failed_at,
            exit_code=_START_FAILED,
            reason="StartError",
            message=record.failure,
        )
    process = _read(folder / "process.json", _Process)
    if process is None:
        return None
    run = _with_process(folder, run, process, now)
    return replace(run, reason="OOMKilled") if record.out_of_memory and run.exit_code else run


def _with_process(folder: Path, run: Run, process: _Process, now: float) -> Run:
    run = replace(run, pid=process.pid, started_at=process.started_at)
    # Looked at in this order, because a container may end in between.
    living = alive(process.pid, process.start_time)
    if ended := _read(folder / "exit.json", _Exit):
        return replace(run, exit_code=ended.exit_code, signal=ended.signal, finished_at=ended.finished_at)
    return run if living else _lost(run, now)


def _lost(run: Run, now: float) -> Run:
    """It is gone and nobody saw how: the machine was restarted, or the reaper died before it."""
    message = "The container could not be located when the pod was inspected"
    return replace(run, exit_code=_KILLED, finished_at=now, reason="ContainerStatusUnknown", message=message)


def alive(pid: int, began: int) -> bool:
    """Whether the process is the one recorded, and not a zombie that only waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return fields[0] not in ("Z", "X") and int(fields[19]) == began


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
