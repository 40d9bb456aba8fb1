"""Endpoints, routes and certificates change while requests run: none fails, and nginx is never reloaded."""

from __future__ import annotations

import asyncio
import re

import msgspec

from tests.component.ingress_under_test import Front, several
from tests.component.test_ingress_certificates import tls_secret
from tests.unit.ingress.cluster import ingress
from tests.unit.ingress.requests import P

CHANGES = 10_000


async def load(served: Front, scheme: str, port: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *("wrk", "-t1", "-c8", "-d600", "-H", "Host: web.test", f"{scheme}://127.0.0.1:{port}/"),
        stdout=asyncio.subprocess.PIPE,
    )


async def ended(process: asyncio.subprocess.Process) -> str:
    process.send_signal(2)
    output, _ = await process.communicate()
    return output.decode()


async def test_no_request_fails_while_everything_changes(served: Front) -> None:
    names = ["a", "b", "c"]
    await served.serve([*names, "web"])
    ports = [served.echoes[name].port for name in names]
    rule, tls = ("web.test", P, "/", "web"), {"cert": ["web.test"]}
    first = ingress("one", rule, tls=tls, ssl_redirect="false")
    await served.tell(first, tls_secret("cert", "0"), *several("web", ports))
    runs = [
        await load(served, "http", served.config.http_port),
        await load(served, "https", served.config.https_port),
    ]
    for number in range(CHANGES):
        match number % 3:
            case 0:
                kept = [port for index, port in enumerate(ports) if index != number // 3 % 3]
                await served.tell(*several("web", kept))
            case 1:
                extra = ("other.test", P, f"/{number}", "a")
                await served.tell(ingress("one", rule, extra, tls=tls, ssl_redirect="false"))
            case _:
                await served.tell(ingress(f"n{number % 50}", (f"h{number}.test", P, "/", "b")))
        if number % 100 == 0:
            await served.tell(tls_secret("cert", str(number)))
    for run in runs:
        told = await ended(run)
        done = re.search(r"(\d+) requests in", told)
        assert done, told
        assert int(done[1]) > 100
        assert "Non-2xx" not in told, told
        assert "Socket errors" not in told, told
    assert served.nginx.starts == 1


async def test_a_restarted_nginx_serves_what_was_saved_before_anyone_tells_it(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(ingress("one", ("web.test", P, "/", "web")))
    served.nginx.save(served.cluster.table.entries())
    await served.nginx.stop()
    await served.nginx.start()
    assert (await served.get("web.test")).service == "web"


async def test_a_change_of_endpoints_is_one_small_message(served: Front) -> None:
    await served.serve(["web"])
    many = [ingress(f"n{number}", (f"h{number}.test", P, "/", "web")) for number in range(200)]
    await served.tell(*many)
    served.cluster.put(*several("web", [1, 2]))
    change = served.cluster.table.take()
    assert list(change.set) == ["backend:default/web:80"]
    assert len(msgspec.json.encode(change.set["backend:default/web:80"])) < 200
