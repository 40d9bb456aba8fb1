"""Pods' networks made by CNI plugins, in place of the bridge of our own.

The plugins give addresses, routes and ports of the node; a Pod's namespace and its loopback are still ours.
Blocking, as `pod_network`. The record is written before a plugin is called, so whatever a crash leaves behind
is given back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import msgspec
import structlog

from fairway.kernel import namespaces, sysctl
from fairway.kernel.netlink import Netlink, inside
from fairway.nodeagent.network import cni
from fairway.nodeagent.network.cni import Attachment, CniError, Network
from fairway.nodeagent.network.host_ports import HostPort
from fairway.nodeagent.network.pod_network import PodNetwork, names_for

log = structlog.get_logger()
RECORD = "cni.json"
_SUFFIXES = (".conflist", ".conf", ".json")
# A plugin may wait for a DHCP server or a daemon; one that hangs must not hold up the Pod for ever.
_PATIENCE = 60.0


class CniNetworks:
    def __init__(self, configuration: Path, plugin_folders: tuple[Path, ...]) -> None:
        self._configuration = configuration
        self._plugins = plugin_folders

    def remember(self, pods_folder: Path) -> None:
        """Who has which address is known to the plugins."""

    def restore(self, folder: Path) -> PodNetwork | None:
        attachment = load(folder)
        if attachment is None or attachment.result is None:
            return None
        network = _network(attachment)
        return network if namespaces.exists(network.namespace) else None

    def set_up(self, uid: str, folder: Path, pod: str, ports: tuple[HostPort, ...] = ()) -> PodNetwork:
        """The configuration is read anew each time, so it can be changed under a running agent."""
        self.tear_down(uid, folder)
        namespace, name = pod.split("/", 1)
        own, _ = names_for(uid)
        path = namespaces.create(own)
        network = first_network(self._configuration)
        attachment = Attachment(network, uid, os.fspath(path), namespace, name, ports)
        save(folder, attachment)
        inside(path, _prepare)
        attachment = msgspec.structs.replace(attachment, result=self._add(attachment))
        save(folder, attachment)
        return _network(attachment)

    def _add(self, attachment: Attachment) -> cni.Json:
        result: cni.Json | None = None
        for plugin in attachment.network.plugins:
            result = call(attachment, plugin, "ADD", result, self._plugins)
        return result or {}

    def tear_down(self, uid: str, folder: Path) -> None:
        detach(folder, self._plugins)
        namespaces.delete(names_for(uid)[0])


def detach(folder: Path, plugin_folders: tuple[Path, ...]) -> None:
    """Give back what the plugins gave a Pod, the last plugin first. None is fine.

    A plugin that could not even begin, such as with a wrong configuration, may not be able to end either.
    """
    attachment = load(folder)
    if attachment is None:
        return
    for plugin in reversed(attachment.network.plugins):
        try:
            call(attachment, plugin, "DEL", cni.result_for_the_end(attachment), plugin_folders)
        except CniError as error:
            if attachment.result is not None:
                raise
            log.warning("network not given back", pod=attachment.name, error=str(error))
    (folder / RECORD).unlink(missing_ok=True)


def call(
    attachment: Attachment,
    plugin: cni.Json,
    command: str,
    previous: cni.Json | None,
    plugin_folders: tuple[Path, ...],
) -> cni.Json:
    folders = [os.fspath(folder) for folder in plugin_folders]
    kind = str(plugin["type"])
    program = shutil.which(kind, path=":".join(folders)) if "/" not in kind else None
    if program is None:
        raise CniError(f"CNI plugin {kind} is not in {' or '.join(folders)}")
    environment = {**os.environ, **cni.environment(attachment, command, folders)}
    body = cni.request(attachment, plugin, previous)
    try:
        done = subprocess.run(
            [program], input=body, env=environment, capture_output=True, check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise CniError(f"CNI plugin {kind} gave no answer for {_PATIENCE:.0f} s") from error
    return cni.parse_answer(kind, done.returncode, done.stdout, done.stderr)


def first_network(folder: Path) -> Network:
    """That of the file whose name comes first, as everyone who uses such folders has it."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix in _SUFFIXES:
            return cni.parse_network(path.read_bytes(), path.suffix == ".conflist")
    raise CniError(f"no CNI configuration in {folder}")


def load(folder: Path) -> Attachment | None:
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=Attachment)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def save(folder: Path, attachment: Attachment) -> None:
    new = folder / (RECORD + ".new")
    new.write_bytes(msgspec.json.encode(attachment))
    new.rename(folder / RECORD)


def _network(attachment: Attachment) -> PodNetwork:
    namespace, _ = names_for(attachment.container_id)
    address = cni.address_in(attachment.result or {})
    return PodNetwork(attachment.container_id, address, namespace, "", attachment.host_ports)


def _prepare(netlink: Netlink) -> None:
    netlink.set_up("lo")
    sysctl.write("net/ipv4/ip_unprivileged_port_start", "0")
