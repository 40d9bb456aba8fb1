"""The Container Network Interface: a network's configuration, what plugins are told, what they answer. Pure.

Versions 0.3.0 to 1.x of its specification. Calling the plugins is for `cni_networks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_interface
from typing import Any

import msgspec

from fairway.nodeagent.network.host_ports import HostPort

Json = dict[str, Any]
INTERFACE = "eth0"
# From this version on a plugin is told at the end what the network came to at the beginning.
_RESULT_AT_THE_END = (0, 4, 0)


class CniError(Exception):
    """A plugin refused, or its configuration is not usable; the message is for the Pod's events."""


class Network(msgspec.Struct, frozen=True):
    """Plugins that are called one after the other, each with its own configuration."""

    name: str = ""
    cni_version: str = msgspec.field(default="0.3.1", name="cniVersion")
    plugins: tuple[Json, ...] = ()


class Attachment(msgspec.Struct, frozen=True):
    """One Pod in a network, as it is also on disk: its end needs just what its beginning was told."""

    network: Network
    container_id: str
    namespace_path: str
    namespace: str = ""
    name: str = ""
    host_ports: tuple[HostPort, ...] = ()
    result: Json | None = None


def parse_network(text: bytes, is_list: bool) -> Network:
    """A `.conflist` has a list of plugins, a `.conf` is one plugin's configuration."""
    try:
        if is_list:
            network = msgspec.json.decode(text, type=Network)
        else:
            alone = msgspec.json.decode(text, type=Json)
            network = msgspec.structs.replace(msgspec.convert(alone, Network), plugins=(alone,))
    except msgspec.MsgspecError as error:
        raise CniError(f"the CNI configuration can't be read: {error}") from error
    if not network.name or not network.plugins or not all(p.get("type") for p in network.plugins):
        raise CniError("the CNI configuration needs a name, and plugins with a type")
    return network


def environment(attachment: Attachment, command: str, plugin_folders: Iterable[str]) -> dict[str, str]:
    args = {
        "IgnoreUnknown": "1",
        "K8S_POD_NAMESPACE": attachment.namespace,
        "K8S_POD_NAME": attachment.name,
        "K8S_POD_INFRA_CONTAINER_ID": attachment.container_id,
        "K8S_POD_UID": attachment.container_id,
    }
    return {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": attachment.container_id,
        "CNI_NETNS": attachment.namespace_path,
        "CNI_IFNAME": INTERFACE,
        "CNI_ARGS": ";".join(f"{name}={value}" for name, value in args.items()),
        "CNI_PATH": ":".join(plugin_folders),
    }


def request(attachment: Attachment, plugin: Mapping[str, Any], previous: Json | None) -> bytes:
    """What a plugin reads. It is told of ports only if it has said that it can open them."""
    network = attachment.network
    body: Json = {**plugin, "name": network.name, "cniVersion": network.cni_version}
    if (plugin.get("capabilities") or {}).get("portMappings"):
        body["runtimeConfig"] = {"portMappings": [_port(port) for port in attachment.host_ports]}
    if previous is not None:
        body["prevResult"] = previous
    return msgspec.json.encode(body)


def result_for_the_end(attachment: Attachment) -> Json | None:
    version = tuple(int(part) for part in attachment.network.cni_version.split(".") if part.isdecimal())
    return attachment.result if version >= _RESULT_AT_THE_END else None


def address_in(result: Json) -> str:
    """The first IPv4 address; Pods have one."""
    for entry in result.get("ips") or ():
        address = ip_interface(entry.get("address", "")).ip
        if address.version == 4:
            return str(address)
    raise CniError("the CNI plugins gave the Pod no IPv4 address")


def parse_answer(plugin: str, exit_code: int, output: bytes, errors: bytes) -> Json:
    """Plugins say on their output what they did, and also what went wrong."""
    try:
        answer = msgspec.json.decode(output, type=Json) if output.strip() else {}
    except msgspec.MsgspecError:
        answer = {}
    if exit_code == 0:
        return answer
    said = [str(answer[key]) for key in ("msg", "details") if answer.get(key)]
    message = ": ".join(said) or errors.decode(errors="replace").strip() or f"exit code {exit_code}"
    raise CniError(f"CNI plugin {plugin}: {message}")


def _port(port: HostPort) -> Json:
    mapping: Json = {"hostPort": port.port, "containerPort": port.container_port, "protocol": port.protocol}
    return mapping | ({"hostIP": port.address} if port.address else {})
