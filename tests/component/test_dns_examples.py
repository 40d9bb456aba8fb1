"""The examples about DNS: their Corefiles run, and their manifests have the names the READMEs promise."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairway.dns.config import usual_corefile
from tests.component.dns_support import StaticCluster, free_port, serving
from tests.component.test_dns_query import query
from tests.component.test_dns_server import Upstream

EXAMPLES = Path(__file__).parents[2] / "examples"


def running(example: str, port: int, upstream: int) -> str:
    """An example's Corefile on loopback, with our own server for names outside."""
    text = (EXAMPLES / example / "Corefile").read_text()
    changes = {".:53": f".:{port}", "/etc/resolv.conf": f"127.0.0.1:{upstream}"}
    changes |= {"    ready\n": "", "prometheus :9153": f"prometheus 127.0.0.1:{free_port()}"}
    changes |= {"    health {\n        lameduck 5s\n    }\n": ""}
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def objects(path: Path) -> list[dict[str, Any]]:
    """The manifests with what controllers would add: virtual IPs, and two endpoints for every Service."""
    found: list[dict[str, Any]] = list(yaml.safe_load_all(path.read_text()))
    kept = [obj for obj in found if obj["kind"] in ("Namespace", "Service")]
    kept.append({"kind": "Namespace", "metadata": {"name": "default"}})
    for number, obj in enumerate(found):
        if obj["kind"] == "Service":
            address = str(ipaddress.ip_address("10.96.0.20") + number)
            obj["spec"].setdefault("clusterIP", address)
            labels = {"kubernetes.io/service-name": obj["metadata"]["name"]}
            endpoints = [{"addresses": [f"10.244.{number}.{host}"]} for host in (1, 2)]
            piece = {"metadata": {**obj["metadata"], "labels": labels}, "endpoints": endpoints}
            kept.append({"kind": "EndpointSlice", "ports": [{"name": "http", "port": 9376}], **piece})
    return kept


def test_the_corefile_of_story_19_is_the_one_that_runs_by_default() -> None:
    text = (EXAMPLES / "19-corefile" / "Corefile").read_text()
    assert text == usual_corefile("cluster.local", 53, ("/etc/resolv.conf",))


@pytest.mark.parametrize("example", ["13-ndots", "19-corefile"])
async def test_the_corefiles_of_the_examples_answer(example: str) -> None:
    port, upstream = free_port(), free_port()
    udp, tcp = await Upstream().serve(upstream)
    cluster = StaticCluster(objects(EXAMPLES / "10-dns" / "dns.yaml"))
    async with serving(running(example, port, upstream), cluster, port):
        assert "Service my-ns/my-service" in await query(port, "my-service.my-ns.svc.cluster.local")
        assert "IN A 192.0.2.1" in await query(port, "www.example.com")
    udp.close()
    tcp.close()


async def test_story_10_has_every_name_that_its_readme_asks_for() -> None:
    port, upstream = free_port(), free_port()
    cluster = StaticCluster(objects(EXAMPLES / "10-dns" / "dns.yaml"))
    async with serving(running("19-corefile", port, upstream), cluster, port):
        assert "\n1 question for" in await query(port, "my-service", "-n", "my-ns")
        assert "\n2 questions for" in await query(port, "my-service.my-ns", "-n", "default")
        text = await query(port, "_http._tcp.my-service.my-ns.svc.cluster.local", "SRV")
        assert "IN SRV 0 100 80 my-service.my-ns.svc.cluster.local." in text
        text = await query(port, "my-headless.my-ns.svc.cluster.local")
        assert text.count("IN A 10.244.") == 2
        assert "IN A 10.244.0.5" in await query(port, "10-244-0-5.default.pod.cluster.local")
