"""Throw-away networks for tests: a LAN with nodes and a client, and Pods behind the nodes, all in namespaces.

    lan (router)  172.30.96.1, fd00:30::1        Services are routed to node 1, each Pod range to its node
    ├── client    172.30.96.50, fd00:30::50
    ├── node 1    172.30.96.11, fd00:30::11 ──── Pods 10.244.1.0/24, fd00:244:1::/64
    └── node 2    172.30.96.12, fd00:30::12 ──── Pods 10.244.2.0/24, fd00:244:2::/64

Sockets are opened inside a namespace and used from the test itself; nothing is sent from the host's own.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from fairway.kernel import namespaces, sysctl

T = TypeVar("T")

SERVICES_V4, SERVICES_V6 = "10.96.0.0/16", "fd00:96::/112"
PODS_V4, PODS_V6 = "10.244.0.0/16", "fd00:244::/32"
# Answers come from threads, which a busy machine keeps waiting; handshakes and drops are the kernel's.
PATIENCE, SILENCE = 30.0, 3.0
# What Pods answer on, unless a test says otherwise.
TARGET = 9376
_counter = iter(range(1 << 30))


class Namespace:
    """A network namespace of this test; it lives as long as this object holds it open."""

    def __init__(self, label: str) -> None:
        self.name = f"fwtest-proxy-{os.getpid()}-{next(_counter)}-{label}"
        path = namespaces.create(self.name)
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        # Others may clean up names; the open descriptor can't be taken away.
        self.path = Path(f"/proc/{os.getpid()}/fd/{self._descriptor}")
        # Addresses count at once: until a device is sure that nobody else has its own, packets are lost.
        self.run(lambda: sysctl.write("net/ipv6/conf/default/accept_dad", "0"))
        self.ip("link set lo up")

    def run(self, work: Callable[[], T]) -> T:
        return namespaces.run_inside(self.path, work)

    def ip(self, *commands: str) -> None:
        """Each command as `ip` takes it."""
        self.command("ip", "-batch", "-", text="\n".join(commands))

    def command(self, *arguments: str, text: str = "") -> str:
        """A program inside; returns what it printed."""
        whole = ["nsenter", f"--net={self.path}", *arguments]
        done = subprocess.run(whole, input=text, text=True, check=False, capture_output=True)
        if done.returncode:
            raise AssertionError(f"{' '.join(arguments)} failed: {done.stderr}\n{text}")
        return done.stdout

    def socket(self, family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM) -> socket.socket:
        opened = self.run(lambda: socket.socket(family, kind))
        opened.settimeout(PATIENCE)
        return opened

    def close(self) -> None:
        os.close(self._descriptor)
        namespaces.delete(self.name)


class Server:
    """Answers every TCP connection and UDP datagram on a port with `NAME PEER-ADDRESS`."""

    def __init__(self, where: Namespace, name: str, port: int) -> None:
        self.name, self.port = name, port
        self._tcp = where.run(lambda: _bound(socket.SOCK_STREAM, port))
        self._tcp.listen(64)
        self._udp = where.run(lambda: _bound(socket.SOCK_DGRAM, port))
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._accept, self._receive)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        for listening in (self._tcp, self._udp):
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, peer = self._tcp.accept()
                threading.Thread(target=self._serve, args=(connection, peer), daemon=True).start()

    def _serve(self, connection: socket.socket, peer: tuple[str, int]) -> None:
        """Greets, then echoes, so that a connection can be held open."""
        with connection, contextlib.suppress(OSError):
            connection.sendall(self._answer(peer))
            while data := connection.recv(4096):
                connection.sendall(data)

    def _receive(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                _, peer = self._udp.recvfrom(4096)
                if peer is None:  # it was shut down
                    return
                self._udp.sendto(self._answer(peer), peer)

    def _answer(self, peer: tuple[str, int]) -> bytes:
        return f"{self.name} {peer[0].removeprefix('::ffff:')}\n".encode()


def _bound(kind: int, port: int) -> socket.socket:
    """Both families by one socket."""
    opened = socket.socket(socket.AF_INET6, kind)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    opened.bind(("::", port))
    return opened


@dataclass
class Pod:
    name: str
    namespace: Namespace
    ip: str
    ip6: str
    server: Server


@dataclass
class Node:
    name: str
    number: int
    namespace: Namespace
    ip: str
    ip6: str
    pods: list[Pod] = field(default_factory=list)


@dataclass
class Network:
    lan: Namespace
    client: Namespace
    client_ip: str
    client_ip6: str
    nodes: list[Node] = field(default_factory=list)

    @property
    def pods(self) -> list[Pod]:
        return [pod for node in self.nodes for pod in node.pods]

    def add_node(self) -> Node:
        number = len(self.nodes) + 1
        space = Namespace(f"node{number}")
        node = Node(f"node-{number}", number, space, f"172.30.96.{10 + number}", f"fd00:30::{10 + number}")
        _join(self.lan, space, node.ip, node.ip6)
        space.ip(
            "link add pods0 type bridge",
            "link set pods0 up",
            f"addr add 10.244.{number}.1/24 dev pods0",
            f"addr add fd00:244:{number}::1/64 dev pods0 nodad",
        )
        space.run(_forward)
        for router in (self.lan, self.client, *(other.namespace for other in self.nodes)):
            _route_pods(router, node)
        for other in self.nodes:
            _route_pods(space, other)
        self.nodes.append(node)
        if number == 1:
            for router in (self.lan, self.client):
                router.ip(f"route add {SERVICES_V4} via {node.ip}", f"route add {SERVICES_V6} via {node.ip6}")
        return node

    def add_pod(self, node: Node, name: str, port: int) -> Pod:
        host = len(node.pods) + 2
        space = Namespace(name)
        ip, ip6 = f"10.244.{node.number}.{host}", f"fd00:244:{node.number}::{host}"
        node.namespace.ip(
            f"link add pod{host} type veth peer name eth0 netns {space.path}",
            f"link set pod{host} master pods0 up",
            # Where bridges call netfilter, a packet sent back to its sender leaves by the port it came in.
            f"link set pod{host} type bridge_slave hairpin on",
        )
        space.ip(
            f"addr add {ip}/24 dev eth0",
            f"addr add {ip6}/64 dev eth0 nodad",
            "link set eth0 up",
            f"route add default via 10.244.{node.number}.1",
            f"route add default via fd00:244:{node.number}::1",
        )
        pod = Pod(name, space, ip, ip6, Server(space, name, port))
        node.pods.append(pod)
        return pod

    def close(self) -> None:
        for node in self.nodes:
            for pod in node.pods:
                pod.server.close()
                pod.namespace.close()
            node.namespace.close()
        self.client.close()
        self.lan.close()


def _route_pods(router: Namespace, node: Node) -> None:
    router.ip(
        f"route add 10.244.{node.number}.0/24 via {node.ip}",
        f"route add fd00:244:{node.number}::/64 via {node.ip6}",
    )


def _forward() -> None:
    sysctl.write("net/ipv4/ip_forward", "1")
    sysctl.write("net/ipv6/conf/all/forwarding", "1")
    for device in Path("/proc/sys/net/ipv4/conf").iterdir():
        # Redirects use up what the kernel allows a destination in ICMP errors, and those are tested.
        sysctl.write(f"net/ipv4/conf/{device.name}/send_redirects", "0")


def _join(lan: Namespace, space: Namespace, ip: str, ip6: str) -> None:
    """Plug a namespace into the LAN, with the router as its default gateway."""
    port = f"p{ip.rsplit('.', 1)[1]}"
    lan.ip(
        f"link add {port} type veth peer name eth0 netns {space.path}",
        f"link set {port} master lan0 up",
    )
    space.ip(
        f"addr add {ip}/24 dev eth0",
        f"addr add {ip6}/64 dev eth0 nodad",
        "link set eth0 up",
        "route add default via 172.30.96.1",
        "route add default via fd00:30::1",
    )


@contextlib.contextmanager
def network() -> Iterator[Network]:
    lan, client = Namespace("lan"), Namespace("client")
    lan.run(_forward)
    lan.ip(
        "link add lan0 type bridge",
        "link set lan0 up",
        "addr add 172.30.96.1/24 dev lan0",
        "addr add fd00:30::1/64 dev lan0 nodad",
    )
    built = Network(lan, client, "172.30.96.50", "fd00:30::50")
    try:
        _join(lan, client, built.client_ip, built.client_ip6)
        yield built
    finally:
        built.close()


def tcp(where: Namespace, address: str, port: int, source: str = "") -> str:
    """One connection; the answer is `NAME PEER-ADDRESS`."""
    with connect(where, address, port, source) as connection:
        return connection.recv(4096).decode().strip()


def connect(where: Namespace, address: str, port: int, source: str = "") -> socket.socket:
    opened = where.socket(_family(address))
    if source:
        opened.bind((source, 0))
    opened.settimeout(SILENCE)
    try:
        opened.connect((address, port))
    except BaseException:
        opened.close()
        raise
    opened.settimeout(PATIENCE)
    return opened


def refused_at_once(where: Namespace, address: str, port: int) -> bool:
    """Whether the first packet of a TCP client was answered with a refusal."""
    with where.socket(_family(address)) as opened:
        try:
            opened.connect((address, port))
        except ConnectionRefusedError:
            told = opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
            return int(struct.unpack_from("I", told, 100)[0]) == 0  # tcpi_total_retrans
    return False


def udp(where: Namespace, address: str, port: int, patience: float = PATIENCE) -> str:
    """One datagram from a new port."""
    with where.socket(_family(address), socket.SOCK_DGRAM) as opened:
        opened.settimeout(patience)
        opened.connect((address, port))
        opened.send(b"?")
        return opened.recv(4096).decode().strip()


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
