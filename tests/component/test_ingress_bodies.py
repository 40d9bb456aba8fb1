"""How large a request's body may be: of known or unknown length, over every protocol, on every way."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.component.ingress_under_test import Front, ask
from tests.component.test_ingress_protocols import grpc_server, serve_with_tls
from tests.unit.ingress.cluster import ingress
from tests.unit.ingress.requests import P

KILO, MEGA = 1 << 10, 1 << 20
DEFAULT = MEGA
FORMS = ("with a length", "in chunks", "over HTTP/2", "over HTTP/2 with a length")
# What routes say of bodies, how large those may be, and for which forms that is exact.
LIMITS = {
    "plain.test": (DEFAULT, FORMS),
    "small.test": (KILO, FORMS),
    "large.test": (4 * MEGA, FORMS),
    "odd.test": (3 * KILO, ("with a length", "in chunks", "over HTTP/2 with a length")),
    "long.test": (DEFAULT, FORMS),
}


@pytest.fixture
async def bodies(served: Front) -> Front:
    await served.serve(["web"])
    await served.tell(
        ingress("plain", ("plain.test", P, "/", "web")),
        ingress("small", ("small.test", P, "/", "web"), proxy_body_size="1k"),
        ingress("large", ("large.test", P, "/", "web"), proxy_body_size="4m"),
        ingress("odd", ("odd.test", P, "/", "web"), proxy_body_size="3k"),
        ingress("long", ("long.test", P, "/", "web"), enable_cors="true"),
        ingress("free", ("free.test", P, "/", "web"), proxy_body_size="0"),
    )
    return served


async def sent(served: Front, host: str, size: int, form: str, path: str = "/") -> int:
    """The status of the answer to a body of that size."""
    if form == "with a length":
        return (await ask(served.config, "POST / HTTP/1.1", host, {}, b"x" * size)).status
    chunked = ["-H", "Transfer-Encoding: chunked"]
    secure = served.config.https_port
    more, url = {
        "in chunks": ([*chunked, "--http1.1"], f"http://{host}:{served.config.http_port}{path}"),
        "over HTTP/2": ([*chunked, "--http2"], f"https://{host}:{secure}{path}"),
        "over HTTP/2 with a length": (["--http2"], f"https://{host}:{secure}{path}"),
    }[form]
    process = await asyncio.create_subprocess_exec(
        *("curl", "--silent", "--insecure", "--max-time", "30", "--output", "/dev/null"),
        *("--connect-to", f"::127.0.0.1:{urlsplit(url).port}", "--write-out", "%{http_code}"),
        *("--header", "Expect:", *more, "--data-binary", "@-", url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    return int((await process.communicate(b"x" * size))[0])


@pytest.mark.parametrize("form", FORMS)
async def test_a_body_of_just_the_limit_passes_and_one_byte_more_is_refused(bodies: Front, form: str) -> None:
    found, wanted = {}, {}
    for host, (most, exact) in LIMITS.items():
        if form in exact:
            wanted[host] = [200, 413]
            found[host] = [await sent(bodies, host, size, form) for size in (most, most + 1)]
    assert found == wanted


async def test_over_http_2_a_body_of_unknown_length_is_limited_to_the_next_power_of_two(
    bodies: Front,
) -> None:
    sizes = (3 * KILO, 4 * KILO, 4 * KILO + 1)
    assert [await sent(bodies, "odd.test", size, "over HTTP/2") for size in sizes] == [200, 200, 413]


@pytest.mark.parametrize("form", FORMS)
async def test_without_a_limit_all_bodies_pass(bodies: Front, form: str) -> None:
    assert await sent(bodies, "free.test", 9 * MEGA, form) == 200


async def test_a_large_body_with_a_length_does_not_cost_the_connection(bodies: Front) -> None:
    """Two requests on one connection: the first is larger than nginx would take for most routes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", bodies.config.http_port)
    for size in (2 * MEGA, 10):
        head = f"POST / HTTP/1.1\r\nHost: large.test\r\nContent-Length: {size}\r\n\r\n"
        writer.write(head.encode() + b"x" * size)
        answer = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)).decode().lower()
        assert answer.startswith("http/1.1 200")
        assert "connection: close" not in answer
        await reader.readexactly(int(answer.split("content-length: ")[1].split("\r\n")[0]))
    writer.close()


@pytest.mark.parametrize("host", ["small.test", "plain.test", "long.test"])
async def test_a_body_that_never_ends_is_refused_when_it_is_too_large(bodies: Front, host: str) -> None:
    """Whoever reads to the end first lets a client fill the disk."""
    reader, writer = await asyncio.open_connection("127.0.0.1", bodies.config.http_port)
    writer.write(f"POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    for _ in range(12):
        writer.write(b"20000\r\n" + b"x" * 0x20000 + b"\r\n")
    assert b" 413 " in await asyncio.wait_for(reader.readline(), 30)
    writer.close()


async def test_a_stream_of_messages_is_limited_without_being_read_first(served: Front) -> None:
    async with grpc_server() as port:
        served.place("web", port)
        await served.tell(
            ingress("one", ("web.test", P, "/", "web"), backend_protocol="GRPC"),
            ingress("two", ("free.test", P, "/", "web"), backend_protocol="GRPC", proxy_body_size="0"),
        )
        statuses = [
            await sent(served, host, size, "over HTTP/2", "/pkg.Service/Collect")
            for host, size in (("web.test", 10), ("web.test", 3 * MEGA), ("free.test", 3 * MEGA))
        ]
        assert statuses == [200, 413, 200]


async def test_a_backend_with_tls_gets_bodies_of_unknown_length_up_to_the_limit(
    served: Front, tmp_path: Path
) -> None:
    await serve_with_tls(served, tmp_path, proxy_body_size="1k")
    assert [await sent(served, "web.test", size, "in chunks") for size in (1024, 1025)] == [200, 413]
