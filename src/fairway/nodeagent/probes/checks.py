"""The checks themselves: an HTTP request, a connection, a command, a gRPC health check.

Each returns why it failed, or None.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence

from fairway.nodeagent.objects import Container, GrpcAction, HttpGetAction, Probe, TcpSocketAction
from fairway.nodeagent.probes import grpc_health
from fairway.nodeagent.runtime.runc import Completed

Complaint = str | None
Execute = Callable[[Sequence[str]], Awaitable[Completed]]


async def check(probe: Probe, container: Container, pod_ip: str, execute: Execute) -> Complaint:
    """One check, within the probe's time limit."""
    seconds = max(1, probe.timeout_seconds)
    try:
        async with asyncio.timeout(seconds):
            if probe.http_get:
                return await http_get(probe.http_get, container, pod_ip)
            if probe.tcp_socket:
                return await tcp_socket(probe.tcp_socket, container, pod_ip)
            if probe.grpc:
                return await grpc(probe.grpc, pod_ip)
            if probe.exec:
                return await command(probe.exec.command, execute)
    except TimeoutError:
        return f"no answer within {seconds}s"
    return "this kind of probe is not supported by this node agent"


async def http_get(action: HttpGetAction, container: Container, pod_ip: str) -> Complaint:
    """Any status from 200 to 399 will do. Certificates are not verified: Pods have their own."""
    port = port_number(action.port, container)
    if port is None:
        return f"no port named {action.port!r}"
    tls = _unverified() if action.scheme.upper() == "HTTPS" else None
    try:
        reader, writer = await asyncio.open_connection(action.host or pod_ip, port, ssl=tls)
        try:
            writer.write(_request(action, action.host or pod_ip, port))
            status_line = await reader.readline()
        finally:
            writer.close()
    except (OSError, ValueError) as error:
        return f"Get {_url(action, pod_ip, port)!r}: {error}"
    return _judge(status_line)


def _request(action: HttpGetAction, host: str, port: int) -> bytes:
    path = action.path or "/"
    headers = {"Host": f"{host}:{port}", "User-Agent": "kube-probe/1.37", "Accept": "*/*"}
    headers |= {header.name: header.value for header in action.http_headers or ()}
    lines = [f"GET {path if path.startswith('/') else '/' + path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode()


def _judge(status_line: bytes) -> Complaint:
    words = status_line.split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        return "the answer is not HTTP"
    status = int(words[1])
    return None if 200 <= status < 400 else f"HTTP probe failed with statuscode: {status}"


def _url(action: HttpGetAction, pod_ip: str, port: int) -> str:
    return f"{action.scheme.lower()}://{action.host or pod_ip}:{port}{action.path}"


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def tcp_socket(action: TcpSocketAction, container: Container, pod_ip: str) -> Complaint:
    port = port_number(action.port, container)
    if port is None:
        return f"no port named {action.port!r}"
    try:
        _, writer = await asyncio.open_connection(action.host or pod_ip, port)
    except OSError as error:
        return f"dial tcp {action.host or pod_ip}:{port}: {error}"
    writer.close()
    return None


async def grpc(action: GrpcAction, pod_ip: str) -> Complaint:
    try:
        reader, writer = await asyncio.open_connection(pod_ip, action.port)
        try:
            status = await _health_status(reader, writer, f"{pod_ip}:{action.port}", action.service)
        finally:
            writer.close()
    except (OSError, grpc_health.NotGrpc) as error:
        return f"failed to check service {action.service!r} at {pod_ip}:{action.port}: {error}"
    if status == "SERVING":
        return None
    if not status:
        return f"the server does not answer grpc.health.v1 checks of service {action.service!r}"
    return f'service unhealthy (responded with "{status}")'


async def _health_status(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authority: str, service: str
) -> str:
    answer = grpc_health.Answer()
    writer.write(grpc_health.request(authority, service))
    while not answer.ended and (data := await reader.read(16384)):
        answer.receive(data)
        for reply in answer.replies:
            writer.write(reply)
        answer.replies.clear()
    return answer.status


async def command(words: Sequence[str], execute: Execute) -> Complaint:
    done = await execute(words)
    if done.exit_code == 0:
        return None
    said = (done.output + done.errors).decode("utf-8", "replace").strip()
    return said[:10_240] or f"command exited with {done.exit_code}"


def port_number(port: int | str, container: Container) -> int | None:
    """Ports may be named, or be numbers written as text."""
    if isinstance(port, int) or port.isdecimal():
        return int(port)
    return next((p.container_port for p in container.ports or () if p.name == port), None)
