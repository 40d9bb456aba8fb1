"""A DNS server on loopback over objects from files, for component tests: no API server needed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import yaml

from fairway.api.objects import ObjectMeta, Pod
from fairway.dns import corefile
from fairway.dns.cluster import Cluster
from fairway.dns.plugin import Surroundings
from fairway.dns.server import Server
from fairway.dns.zone.views import EndpointSlice, Metadata, Service
from fairway.dns.zone.zone import Zone

GOLDEN = Path(__file__).parents[1] / "conformance" / "golden"
REFUSED = {"ext/out-upper", "ext/underscore"}
"""Services of the fixtures that a Kubernetes API server does not take."""
API_SERVICE = {
    "kind": "Service",
    "metadata": {"name": "kubernetes", "namespace": "default"},
    "spec": {
        "clusterIP": "10.96.0.1",
        "clusterIPs": ["10.96.0.1"],
        "ports": [{"name": "https", "port": 443}],
    },
}
"""What every API server keeps by itself, so no fixture has it."""


def fixtures() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        API_SERVICE,
        {"kind": "Namespace", "metadata": {"name": "default"}},
        {"kind": "Namespace", "metadata": {"name": "kube-system"}},
    ]
    for path in sorted((GOLDEN / "dns" / "fixtures").glob("*.yaml")):
        found += yaml.load_all(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return found


class StaticCluster:
    """A cluster whose objects are given, for zones to be filled from."""

    def __init__(self, objects: Iterable[dict[str, Any]]) -> None:
        self.objects = list(objects)
        self.zones: list[Zone] = []
        self.seen = True

    def fills(self, zone: Zone) -> bool:
        return self.seen

    def recalls(self, zone: Zone) -> bool:
        return False

    def attach(self, zone: Zone) -> None:
        self.zones.append(zone)
        for obj in self.objects:
            tell(zone, obj)
        zone.flush()

    def detach(self, zone: Zone) -> None:
        self.zones.remove(zone)

    def change(self, obj: dict[str, Any], gone: bool = False) -> None:
        for zone in self.zones:
            tell(zone, obj, gone)
            zone.flush()


def tell(zone: Zone, obj: dict[str, Any], gone: bool = False) -> None:
    """One object as an informer would tell it."""
    key = msgspec.convert(obj["metadata"], ObjectMeta).key
    if key in REFUSED:
        return
    match obj["kind"]:
        case "Namespace":
            zone.namespace_changed(key, None if gone else msgspec.convert(obj["metadata"], Metadata))
        case "Service":
            zone.service_changed(key, None if gone else msgspec.convert(obj, Service))
        case "EndpointSlice":
            zone.slice_changed(key, None if gone else msgspec.convert(obj, EndpointSlice))
        case "Pod":
            zone.pod_changed(key, None, None if gone else msgspec.convert(obj, Pod))


def free_port() -> int:
    """A port that is free for UDP and TCP on loopback."""
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        port = int(tcp.getsockname()[1])
        udp.bind(("127.0.0.1", port))
        return port


@contextlib.asynccontextmanager
async def serving(
    text: str | list[str],
    cluster: Cluster,
    port: int = 53,
    environ: dict[str, str] | None = None,
    bind: tuple[str, ...] = ("127.0.0.1",),
    on_failure: Callable[[Exception], None] | None = None,
) -> AsyncIterator[Server]:
    """A server for this Corefile while the block runs; the last of several texts is read."""
    failures: list[Exception] = []
    around = Surroundings(
        cluster=lambda kubeconfig: cluster,
        read_file=lambda path: Path(path).read_text(),
        clock=time.monotonic,
        reload=lambda: server.reload(),
        fail=on_failure or failures.append,
        not_ready=lambda: server.not_ready(),
    )
    texts = [text] if isinstance(text, str) else text

    def read() -> tuple[corefile.Block, ...]:
        return corefile.parse(texts[-1], "Corefile", environ or dict(os.environ))

    server = Server(read, around, bind, port)
    await server.start()
    try:
        yield server
    finally:
        server.close()
        await server.stop()
        await asyncio.sleep(0)
    assert not failures
