"""A cluster with load balancers on a test network: allocation, a speaker on each node, and witnesses."""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import shutil
import signal
import socket
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from fairway.api.resources import CONFIG_MAPS, ENDPOINT_SLICES, EVENTS, LEASES, SERVICES
from fairway.client import Client, NotFound
from fairway.lb.speaker import wire
from fairway.lb.speaker.model import lease_name

from .proxy_cluster import TARGET, Cluster, Process, eventually
from .topology import SERVICES_V4, SERVICES_V6, Namespace, Network, Pod

POOLS = """
address-pools:
- name: lan
  protocol: layer2
  addresses: [172.30.96.200-172.30.96.250, "fd00:30::200-fd00:30::250"]
"""


class Witness:
    """Asks for an address again and again and notes who answers, and when."""

    def __init__(self, where: Namespace, address: str, every: float = 0.01) -> None:
        self.address = wire.ipaddress.ip_address(address)
        self.heard: list[tuple[float, str]] = []
        self._every = every
        self._socket = where.run(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3)))
        self._socket.bind(("eth0", 3))
        self._socket.settimeout(0.2)
        self._mac = self._socket.getsockname()[4]
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._ask, self._listen)]

    def __enter__(self) -> Witness:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def turns(self) -> list[str]:
        """Who answered, one entry for each time that it was someone else than before."""
        found: list[str] = []
        for _, mac in list(self.heard):
            if not found or found[-1] != mac:
                found.append(mac)
        return found

    def longest_silence(self) -> float:
        times = [moment for moment, _ in list(self.heard)]
        return max((late - early for early, late in pairwise(times)), default=0.0)

    def _ask(self) -> None:
        while not self._stop.wait(self._every):
            self._socket.send(wire.probe(self.address, self._mac))

    def _listen(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                frame = self._socket.recv(2048)
                heard = wire.read(frame)
                if isinstance(heard, wire.Claim) and heard.address == self.address:
                    self.heard.append((time.monotonic(), heard.mac.hex(":")))


class Probes:
    """Connects to an address all the time; knows for how long nobody got an answer."""

    def __init__(self, where: Namespace, address: str) -> None:
        self._where, self._address = where, address
        self.answered: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Probes:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def outage(self) -> float:
        return max((b - a for a, b in pairwise(self.answered)), default=0.0)

    def _work(self) -> None:
        while not self._stop.wait(0.01):
            with contextlib.suppress(OSError), self._where.socket() as probe:
                probe.settimeout(0.1)
                probe.connect((self._address, 80))
                if probe.recv(100):
                    self.answered.append(time.monotonic())


class BalancedCluster(Cluster):
    def __init__(self, net: Network, folder: Path) -> None:
        super().__init__(
            net, folder, api_flags=("--service-cluster-ip-range", f"{SERVICES_V4},{SERVICES_V6}")
        )
        self.folder = folder
        # HAProxy's user can't look into the folders of tests.
        self.files = Path(tempfile.mkdtemp(prefix="fwtest-lb."))
        self.files.chmod(0o711)
        meta = {"name": "fairway-lb", "namespace": "kube-system"}
        eventually(lambda: self.put(CONFIG_MAPS, {"metadata": meta, "data": {"config": POOLS}}), within=30)
        self.controller = Process(net.lan, folder / "lb.log", "lb", *self._lb("controller"))
        self.speakers = [
            Process(
                node.namespace,
                folder / f"speaker-{node.name}.log",
                "lb",
                *self._lb("speaker", "--node", node.name, "--interface", "eth0"),
                *("--data", str(self.files / f"balancer-{node.name}")),
            )
            for node in net.nodes
        ]

    def _lb(self, role: str, *more: str) -> tuple[str, ...]:
        return ("--kubeconfig", str(self.kubeconfig), "--role", role, *more)

    def publish(
        self,
        name: str,
        pods: list[Pod],
        annotations: dict[str, str] | None = None,
        target: int = TARGET,
        **spec: Any,
    ) -> str:
        """Its address, once there is one."""
        meta = {"name": name, "namespace": "default", "annotations": annotations or {}}
        whole = {"type": "LoadBalancer", "ports": [{"port": 80, "targetPort": target}]} | spec
        self.put(SERVICES, {"metadata": meta, "spec": whole})
        self.node_endpoints(name, pods, target)
        eventually(lambda: self.addresses(name), within=30)
        return self.addresses(name)[0]

    def node_endpoints(self, name: str, pods: list[Pod], port: int = TARGET) -> None:
        """As `endpoints`, in both families, and they say on which node they are."""
        labels = {"kubernetes.io/service-name": name}
        for family in ("IPv4", "IPv6"):
            entries = [
                {"addresses": [pod.ip if family == "IPv4" else pod.ip6], "nodeName": self.node_of(pod)}
                for pod in pods
            ]
            meta = {"name": f"{name}-{family.lower()}", "namespace": "default", "labels": labels}
            ports = [{"name": "", "port": port, "protocol": "TCP"}]
            whole = {"metadata": meta, "addressType": family, "endpoints": entries, "ports": ports}
            self.put(ENDPOINT_SLICES, whole)

    def addresses(self, name: str) -> list[str]:
        async def work(client: Client) -> list[str]:
            service = await client.get(SERVICES, name, namespace="default")
            points = service.get("status", {}).get("loadBalancer", {}).get("ingress") or []
            return [point["ip"] for point in points]

        return self.call(work)

    def holder(self, address: str) -> str:
        async def work(client: Client) -> str:
            try:
                lease = await client.get(LEASES, lease_name(address), namespace="kube-system")
            except NotFound:
                return ""
            return str(lease["spec"].get("holderIdentity") or "")

        return self.call(work)

    def events(self, reason: str) -> list[str]:
        async def work(client: Client) -> list[str]:
            listing = await client.list(EVENTS, namespace="default")
            return [event["message"] for event in listing.items if event["reason"] == reason]

        return self.call(work)

    def mac(self, name: str) -> str:
        node = next(node for node in self.net.nodes if node.name == name)
        found = re.search(r"link/ether (\S+)", node.namespace.command("ip", "link", "show", "eth0"))
        assert found
        return found[1]

    def node_of(self, pod: Pod) -> str:
        return next(node.name for node in self.net.nodes if pod in node.pods)

    def cut_off(self, node: str) -> None:
        """Pull its cable."""
        self.net.lan.ip(f"link set p{10 + int(node.removeprefix('node-'))} down")

    def reconnect(self, node: str) -> None:
        self.net.lan.ip(f"link set p{10 + int(node.removeprefix('node-'))} up")

    def speaker(self, node: str) -> Process:
        return self.speakers[[n.name for n in self.net.nodes].index(node)]

    def close(self) -> None:
        for process in (self.controller, *self.speakers):
            process.kill(signal.SIGTERM)
        super().close()
        shutil.rmtree(self.files)


class WebServer(http.server.ThreadingHTTPServer):
    """Answers every request with its headers as JSON."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, where: Namespace, port: int) -> None:
        super().__init__(("0.0.0.0", port), _ShowHeaders, bind_and_activate=False)
        self.socket.close()
        self.socket = where.run(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        self.server_bind()
        self.server_activate()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Health checks connect and leave without a word."""

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _ShowHeaders(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        pass
