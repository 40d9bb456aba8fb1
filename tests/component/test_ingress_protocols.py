"""Other protocols than plain HTTP/1.1: HTTP/2 in front, TLS and gRPC behind."""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.component.ingress_under_test import Echo, Front, free_port
from tests.component.test_ingress_certificates import certificate
from tests.unit.ingress.cluster import ingress
from tests.unit.ingress.requests import P

_GRPC = """
daemon off; pid {folder}/pid; error_log stderr error; worker_processes 1;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port} http2;
        default_type application/grpc;
        add_header grpc-status 0;
        add_header seen "$server_protocol $request_uri";
        client_max_body_size 0;
        location / {{ return 200 "x"; }}
        # Answers when it has read all that is sent.
        location /pkg.Service/Collect {{ proxy_pass http://unix:{folder}/collected; }}
    }}
    server {{
        listen unix:{folder}/collected;
        client_max_body_size 0;
        location / {{ return 200 "x"; }}
    }}
}}
"""


@asynccontextmanager
async def grpc_server() -> AsyncIterator[int]:
    """Speaks HTTP/2 without TLS, and nothing else."""
    with tempfile.TemporaryDirectory(prefix="fairway-test.") as folder:
        os.chmod(folder, 0o755)  # noqa: S103
        port, conf = free_port(), Path(folder) / "nginx.conf"
        conf.write_text(_GRPC.format(folder=folder, port=port))
        process = await asyncio.create_subprocess_exec("nginx", "-p", folder, "-c", str(conf))
        try:
            await until_open(port)
            yield port
        finally:
            process.terminate()
            await process.wait()


async def until_open(port: int) -> None:
    for _ in range(3000):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            return
    raise AssertionError(f"nothing listens on {port}")


async def curl(served: Front, *words: str) -> str:
    url = f"https://web.test:{served.config.https_port}/pkg.Service/Method"
    process = await asyncio.create_subprocess_exec(
        *("curl", "--silent", "--insecure", "--include", "--max-time", "30"),
        *("--resolve", f"web.test:{served.config.https_port}:127.0.0.1", *words, url),
        stdout=asyncio.subprocess.PIPE,
    )
    return (await process.communicate())[0].decode()


async def test_clients_may_speak_http_2(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(ingress("one", ("web.test", P, "/", "web")))
    told = await curl(served, "--http2")
    assert told.startswith("HTTP/2 200")
    assert '"service": "web"' in told


async def test_grpc_reaches_a_server_that_speaks_nothing_else(served: Front) -> None:
    async with grpc_server() as port:
        served.place("web", port)
        await served.tell(
            ingress("one", ("web.test", P, "/", "web"), backend_protocol="GRPC"),
        )
        told = await curl(served, "--http2", "-H", "Content-Type: application/grpc", "--data", "x")
        assert told.startswith("HTTP/2 200")
        assert "grpc-status: 0" in told
        assert "seen: HTTP/2.0 /pkg.Service/Method" in told


async def serve_with_tls(served: Front, folder: Path, **annotations: str) -> None:
    """A server `web` that speaks TLS, and an Ingress for it that says so."""
    for name, text in zip(("crt", "key"), certificate("backend"), strict=True):
        (folder / name).write_bytes(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "crt", folder / "key")
    served.echoes["web"] = echo = await Echo("web").start(context)
    served.place("web", echo.port)
    await served.tell(
        ingress("one", ("web.test", P, "/", "web"), backend_protocol="HTTPS", **annotations),
    )


async def test_a_backend_may_want_tls(served: Front, tmp_path: Path) -> None:
    await serve_with_tls(served, tmp_path)
    answer = await served.get("web.test", "/x")
    assert (answer.service, answer.seen["target"]) == ("web", "/x")
