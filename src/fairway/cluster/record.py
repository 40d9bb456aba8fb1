"""What a running cluster writes down about itself, so that `down` and a second `up` find it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from fairway.cluster.layout import Layout


class Record(msgspec.Struct, frozen=True):
    index: int
    nodes: int
    port: int
    pid: int
    proxy_mode: str = "nftables"
    forwarding_was_off: bool = False
    """Whether the host did not forward packets before, so that `down` turns it off again."""
    rootless: bool = False
    """Whether it runs in an ordinary user's namespaces, which go with the process `pid`."""

    @property
    def layout(self) -> Layout:
        return Layout(self.index, self.nodes)


def record_path(data: Path) -> Path:
    return data / "cluster.json"


def read_record(data: Path) -> Record | None:
    try:
        return msgspec.json.decode(record_path(data).read_bytes(), type=Record)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def write_record(data: Path, record: Record) -> None:
    temporary = record_path(data).with_suffix(".new")
    temporary.write_bytes(msgspec.json.encode(record))
    temporary.replace(record_path(data))


def remove_record(data: Path) -> None:
    record_path(data).unlink(missing_ok=True)


class Claim:
    """Holds a data directory for one supervisor at a time; the kernel lets go of it when we die."""

    def __init__(self, data: Path) -> None:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._descriptor = os.open(data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        os.close(self._descriptor)
