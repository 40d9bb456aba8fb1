"""`fairway dns query` against a running server: the answer, where it came from, what search paths cost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.component.dns_support import StaticCluster, fixtures, free_port, serving
from tests.component.test_dns_server import Upstream

COREFILE = """\
.:{port} {{
    rewrite name exact alias.example web.prod.svc.cluster.local
    hosts /dev/null example.org {{
        192.0.2.9 pinned.example.org
    }}
    kubernetes cluster.local in-addr.arpa {{
        pods insecure
        fallthrough in-addr.arpa
    }}
    forward . 127.0.0.1:{upstream}
    cache 30
}}
"""


@pytest.fixture
async def port() -> AsyncIterator[int]:
    port, upstream = free_port(), free_port()
    udp, tcp = await Upstream().serve(upstream)
    async with serving(COREFILE.format(port=port, upstream=upstream), StaticCluster(fixtures()), port):
        yield port
    udp.close()
    tcp.close()


async def query(port: int, *words: str) -> str:
    command = [str(Path(sys.executable).parent / "fairway"), "dns", "query", *words]
    command += ["--server", "127.0.0.1", "--port", str(port)]
    process = await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-2)
    return (await process.communicate())[0].decode()


async def test_the_object_behind_a_name_is_told(port: int) -> None:
    text = await query(port, "web.prod.svc.cluster.local")
    assert "web.prod.svc.cluster.local. 5 IN A 10.96.4.1" in text
    assert "from kubernetes: zone cluster.local., Service prod/web" in text
    text = await query(port, "_http._tcp.web.prod.svc.cluster.local", "SRV")
    assert "IN SRV 0 100 80 web.prod.svc.cluster.local." in text
    assert "port of Service prod/web" in text
    assert "10.96.4.1  (additional)" in text
    text = await query(port, "1.4.96.10.in-addr.arpa", "PTR")
    assert "address of web.prod.svc" in text
    text = await query(port, "nope.prod.svc.cluster.local")
    assert "NXDOMAIN" in text
    assert "no object of that name" in text
    assert "IN SOA ns.dns.cluster.local. hostmaster.cluster.local." in text


async def test_plugins_upstreams_and_the_age_in_the_cache_are_told(port: int) -> None:
    first, second = await query(port, "host.test"), await query(port, "host.test")
    assert "from forward: asked 127.0.0.1:" in first
    assert "from cache: " in second
    assert "s old" in second
    assert "from hosts: " in await query(port, "pinned.example.org")
    assert "rewrite: asked for web.prod.svc.cluster.local. A; kubernetes:" in await query(
        port, "alias.example"
    )


async def test_what_a_search_path_costs_is_counted(port: int) -> None:
    assert "\n1 question for" in await query(port, "web", "-n", "prod")
    assert "\n2 questions for" in await query(port, "web.prod", "-n", "ext")
    assert "\n4 questions for" in await query(port, "www.outside.test", "-n", "prod")
    assert "\n1 question for" in await query(port, "www.outside.test", "-n", "prod", "--ndots", "2")


async def test_a_wrong_type_or_a_dead_server_is_said_in_words(port: int) -> None:
    assert "Error: " in await query(port, "web.prod.svc.cluster.local", "NONSENSE")
    assert "Error: 127.0.0.1:" in await query(free_port(), "web.prod.svc.cluster.local")
