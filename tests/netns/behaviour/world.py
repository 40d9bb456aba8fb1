"""The places of the behaviour table as network namespaces, with servers in the Pods."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fairway.kernel import sysctl
from tests.behaviour.places import LAYOUT, NODES, OTHER_PORT, OUTER_RANGES, OUTSIDE, POD_PORT, PODS
from tests.netns.topology import Namespace, Network, Node, Server, network


@dataclass(frozen=True)
class World:
    network: Network
    nodes: dict[str, Node]
    clients: dict[str, Namespace]
    """Whoever may ask, by the table's names."""


@contextlib.contextmanager
def world() -> Iterator[World]:
    _load_modules()
    able = has_sctp()
    with network() as built, contextlib.ExitStack() as servers:
        nodes = {name: built.add_node() for name in LAYOUT}
        clients = {name: node.namespace for name, node in nodes.items()}
        for name, node in nodes.items():
            node.namespace.run(_answer_every_error)
            for pod in LAYOUT[name]:
                made = built.add_pod(node, pod, POD_PORT)
                assert (made.ip, made.ip6) == (PODS[pod].v4, PODS[pod].v6)
                clients[pod] = made.namespace
                _serve(servers, made.namespace, f"{pod}+other", OTHER_PORT)
                if able:
                    servers.callback(SctpServer(made.namespace, pod, POD_PORT).close)
                    servers.callback(SctpServer(made.namespace, f"{pod}+other", OTHER_PORT).close)
        _outside(built, nodes)
        _serve(servers, built.client, "outside", POD_PORT)
        if able:
            servers.callback(SctpServer(built.client, "outside", POD_PORT).close)
        yield World(built, nodes, clients | dict.fromkeys(OUTSIDE, built.client))


def _serve(servers: contextlib.ExitStack, where: Namespace, name: str, port: int) -> None:
    servers.callback(Server(where, name, port).close)


class SctpServer:
    """Says to every association what the other servers say to connections."""

    def __init__(self, where: Namespace, name: str, port: int) -> None:
        self._name = name
        self._socket = where.run(lambda: _listening(port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, peer = self._socket.accept()
                with connection:
                    connection.sendall(f"{self._name} {peer[0].removeprefix('::ffff:')}\n".encode())


def _listening(port: int) -> socket.socket:
    opened = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
    opened.bind(("::", port))
    opened.listen(64)
    return opened


def _outside(built: Network, nodes: dict[str, Node]) -> None:
    stranger = OUTSIDE["stranger"]
    built.client.ip(
        f"addr add {stranger.v4}/24 dev eth0",
        f"addr add {stranger.v6}/64 dev eth0 nodad preferred_lft 0",
    )
    for name in nodes:
        for network_range, gateway in zip(OUTER_RANGES[name], (NODES[name].v4, NODES[name].v6), strict=True):
            built.client.ip(f"route add {network_range} via {gateway}")


def _load_modules() -> None:
    """Bridges must call netfilter, or answers between two Pods of a node pass it by."""
    socket.socket(socket.AF_INET6).close()
    if not Path("/proc/sys/net/bridge").exists():
        subprocess.run(["modprobe", "br_netfilter"], check=True)


def _answer_every_error() -> None:
    """The kernel allows a client few ICMP errors a second; here many cases of one client run at once."""
    sysctl.write("net/ipv4/icmp_ratelimit", "0")
    sysctl.write("net/ipv6/icmp/ratelimit", "0")


def has_sctp() -> bool:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP).close()
    except OSError:
        return False
    return True
