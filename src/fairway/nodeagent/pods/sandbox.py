"""Everything of a Pod but its containers, on this node: its folder, files, volumes and network.

    PODS/uid/pod.json             whose it is
    PODS/uid/etc/                 hosts, resolv.conf, hostname
    PODS/uid/volumes/NAME/        what containers share
    PODS/uid/containers/NAME/N/   one folder for each run; see `runtime.containers`
    PODS/uid/sandbox.json         written last: all of the above is there

Blocking; the worker calls it in a thread.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fairway.api.schema import quantity
from fairway.kernel import mounts
from fairway.nodeagent.network.host_ports import wanted_by
from fairway.nodeagent.network.pod_network import Networks
from fairway.nodeagent.objects import EmptyDirSource, HostPathSource, Pod, Volume
from fairway.nodeagent.pods.downward import ConfigError
from fairway.nodeagent.pods.files import (
    host_network_hosts_file,
    hosts_file,
    parse_resolver,
    resolver,
)
from fairway.nodeagent.pods.volumes import VolumeFile, volume_path

_SAFE_UID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")


class Identity(msgspec.Struct, frozen=True):
    """Whose folder it is, for those who find it."""

    uid: str
    namespace: str = ""
    name: str = ""


class SandboxRecord(msgspec.Struct, frozen=True):
    pod_ip: str
    namespace_path: str = ""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What all sandboxes of a node have in common."""

    node_ip: str
    cluster_dns: tuple[str, ...]
    cluster_domain: str
    host_resolv_conf: Path = Path("/etc/resolv.conf")
    host_hosts: Path = Path("/etc/hosts")


class Sandbox:
    def __init__(self, pods_folder: Path, uid: str, networks: Networks, node: NodeFacts) -> None:
        if not _SAFE_UID.match(uid):
            raise ValueError(f"the Pod's uid {uid!r} can't name a folder")
        self.uid = uid
        self.folder = pods_folder / uid
        self._networks = networks
        self._node = node

    def restore(self) -> SandboxRecord | None:
        """What an earlier agent had made, if it is still all there."""
        record = _read_record(self.folder)
        if record is None:
            return None
        if record.namespace_path and self._networks.restore(self.folder) is None:
            return None
        return record

    def set_up(self, pod: Pod) -> SandboxRecord:
        """The network first: files and environment tell its address."""
        self.folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        identity = Identity(self.uid, pod.metadata.namespace, pod.metadata.name)
        (self.folder / "pod.json").write_bytes(msgspec.json.encode(identity))
        if pod.spec.host_network:
            record = SandboxRecord(self._node.node_ip)
        else:
            network = self._networks.set_up(self.uid, self.folder, pod.metadata.key, wanted_by(pod))
            record = SandboxRecord(network.address, str(network.namespace_path))
        self._write_files(pod, record.pod_ip)
        return record

    def complete(self, pod: Pod, filled: Mapping[str, list[VolumeFile]], record: SandboxRecord) -> None:
        """The volumes, and the note that everything is there."""
        for volume in pod.spec.volumes or ():
            self._make_volume(pod, volume, filled.get(volume.name))
        _replace(self.folder / "sandbox.json", msgspec.json.encode(record))

    def refill(self, pod: Pod, filled: Mapping[str, list[VolumeFile]]) -> None:
        """Bring files up to date while containers read them."""
        for volume in pod.spec.volumes or ():
            if volume.name in filled:
                self._make_volume(pod, volume, filled[volume.name])
        os.utime(self.folder / "sandbox.json")

    def filled_at(self) -> float:
        return (self.folder / "sandbox.json").stat().st_mtime

    def _write_files(self, pod: Pod, pod_ip: str) -> None:
        node, folder = self._node, self.folder / "etc"
        folder.mkdir(mode=0o755, exist_ok=True)
        if pod.spec.host_network:
            hosts = host_network_hosts_file(_text(node.host_hosts), pod.spec.host_aliases)
        else:
            hosts = hosts_file(pod, pod_ip, node.cluster_domain)
        host = parse_resolver(_text(node.host_resolv_conf))
        resolv = str(resolver(pod, node.cluster_dns, node.cluster_domain, host))
        for name, text in (("hosts", hosts), ("resolv.conf", resolv), ("hostname", pod.hostname + "\n")):
            (folder / name).write_text(text)
            (folder / name).chmod(0o644)

    # -- volumes ---------------------------------------------------------------------------------------

    def _make_volume(self, pod: Pod, volume: Volume, files: list[VolumeFile] | None) -> None:
        path, group = volume_path(self.folder, volume), pod.spec.security_context.fs_group
        if volume.host_path:
            _check_host_path(volume.host_path)
        elif files is not None:
            _fill(path, files, group)
        elif volume.empty_dir:
            _make_empty_dir(path, volume.empty_dir, group)
        else:
            raise ConfigError(f'volume "{volume.name}" is of a kind that this node agent does not have')

    def tear_down(self) -> None:
        """Containers are gone already. Unknown mounts below the folder go too, never what they show."""
        self.release_network()
        for point in mounts.mounted_under(self.folder):
            mounts.unmount(point)
        shutil.rmtree(self.folder, ignore_errors=True)

    def release_network(self) -> None:
        """For a Pod whose containers are done for good: only its files and logs stay."""
        (self.folder / "sandbox.json").unlink(missing_ok=True)
        self._networks.tear_down(self.uid, self.folder)


def _read_record(folder: Path) -> SandboxRecord | None:
    try:
        return msgspec.json.decode((folder / "sandbox.json").read_bytes(), type=SandboxRecord)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def identities(pods_folder: Path) -> list[Identity]:
    """Everyone who has a folder, whoever made it."""
    if not pods_folder.is_dir():
        return []
    return [_identity(folder) for folder in sorted(pods_folder.iterdir()) if folder.is_dir()]


def _identity(folder: Path) -> Identity:
    try:
        return msgspec.json.decode((folder / "pod.json").read_bytes(), type=Identity)
    except (FileNotFoundError, msgspec.MsgspecError):
        return Identity(folder.name)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _fill(folder: Path, files: list[VolumeFile], group: int | None) -> None:
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    for file in files:
        path = folder / file.path
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != file.content:
            mode = file.mode | (0o040 if group is not None else 0)
            _replace(path, file.content, mode, -1 if group is None else group)
    wanted = {folder / file.path for file in files}
    for path in folder.rglob("*"):
        # Keys that a ConfigMap or a Secret has lost.
        if path.is_file() and path not in wanted:
            path.unlink()


def _replace(path: Path, content: bytes, mode: int = 0o600, group: int = -1) -> None:
    """Whoever reads it sees the old or the new, never a part."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.chmod(mode)
    os.chown(new, -1, group)
    new.rename(path)


def _make_empty_dir(path: Path, source: EmptyDirSource, group: int | None) -> None:
    path.mkdir(parents=True, exist_ok=True)
    if source.medium == "Memory" and not mounts.mounted_under(path):
        size = f"size={quantity.whole(source.size_limit)}" if source.size_limit else ""
        mounts.tmpfs(path, size)
    path.chmod(0o777)
    if group is not None:
        os.chown(path, -1, group)
        path.chmod(0o2777)


def _check_host_path(source: HostPathSource) -> None:
    path = Path(source.path)
    if source.type == "DirectoryOrCreate":
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    elif source.type == "FileOrCreate" and not path.exists():
        path.touch(mode=0o644)
    checks = {
        "Directory": path.is_dir,
        "File": path.is_file,
        "Socket": path.is_socket,
        "CharDevice": path.is_char_device,
        "BlockDevice": path.is_block_device,
    }
    if not checks.get(source.type, path.exists)():
        raise ConfigError(f"hostPath type check failed: {source.path} is not a {source.type or 'file'}")
