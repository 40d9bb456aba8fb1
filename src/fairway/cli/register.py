"""`fairway register`: what runs elsewhere becomes an endpoint of a Service, for as long as we say so."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import shutil
import socket
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import click
import msgspec
import uvloop

from fairway.api import registration
from fairway.api.resources import ENDPOINT_SLICES, LEASES, NODES, SERVICES
from fairway.cli.connection import connected, kubeconfig_option, namespace_option
from fairway.client import AlreadyExists, Client, NotFound
from fairway.kernel.processes import Process
from fairway.running import until_signalled

Alive = Callable[[], Awaitable[bool]]


@click.command(
    help="Make an address an endpoint of a Service, until this command ends: "
    "fairway register SERVICE --address IP --port N [--http-path /healthz] [--pid N | --unit NAME]"
)
@kubeconfig_option
@namespace_option
@click.option("--address", required=True, help="where it is reached; not a loopback address")
@click.option("--port", required=True, type=click.IntRange(1, 65535))
@click.option("--service-port", type=click.IntRange(1, 65535), help="of a Service that is made; else --port")
@click.option("--protocol", default="TCP", type=click.Choice(["TCP", "UDP", "SCTP"]))
@click.option("--probe", default="tcp", type=click.Choice(["tcp", "http", "grpc", "none"]), show_default=True)
@click.option("--http-path", default="/", show_default=True, help="for --probe http")
@click.option("--period", default=2, show_default=True, help="seconds from one check to the next")
@click.option("--node", default="", help="whose agent checks it (default: the nearest)")
@click.option("--pid", type=int, help="end when this process does")
@click.option("--unit", default="", help="end when this systemd unit is no longer active")
@click.option("--lease", "seconds", default=10, show_default=True, help="seconds it outlives this command")
@click.option("--once", is_flag=True, help="register and return; it goes when the lease lapses")
@click.argument("service")
def command(
    kubeconfig: str | None,
    namespace: str,
    address: str,
    port: int,
    service_port: int | None,
    protocol: str,
    probe: str,
    http_path: str,
    period: int,
    node: str,
    pid: int | None,
    unit: str,
    seconds: int,
    once: bool,
    service: str,
) -> None:
    name = slice_name(service, address, port)
    wanted = probe_text(probe, port, http_path, period)

    async def work(client: Client) -> None:
        where = node or await nearest_node(client, address)
        port_of_slice = await _service_port(client, service, namespace, service_port or port, port, protocol)
        obj = registration.endpoint_slice(name, service, address, port_of_slice, where, wanted)
        await _renew(client, name, namespace, seconds)
        await client.patch(
            ENDPOINT_SLICES, name, obj, namespace=namespace, kind="apply", field_manager=name, force=True
        )
        click.echo(f"{address}:{port} is registered with service/{service}, looked after by node {where}")
        if once:
            return
        try:
            await until_signalled(_keep(client, name, namespace, seconds, _alive(pid, unit)))
        finally:
            await _leave(client, name, namespace)

    uvloop.run(connected(kubeconfig, "register", work))


def slice_name(service: str, address: str, port: int) -> str:
    readable = address.replace(".", "-").replace(":", "-")
    return f"{service}-{readable}-{port}"


def probe_text(kind: str, port: int, path: str, period: int) -> str:
    actions: dict[str, dict[str, Any]] = {
        "tcp": {"tcpSocket": {"port": port}},
        "http": {"httpGet": {"port": port, "path": path}},
        "grpc": {"grpc": {"port": port}},
    }
    if kind == "none":
        return ""
    timing = {"periodSeconds": period, "timeoutSeconds": max(1, period), "failureThreshold": 2}
    return msgspec.json.encode(actions[kind] | timing).decode()


async def nearest_node(client: Client, address: str) -> str:
    """The node with that address or with the longest common beginning of addresses."""
    target = int(ipaddress.ip_address(address))

    def distance(node: dict[str, Any]) -> int:
        texts = [a["address"] for a in node["status"].get("addresses") or () if a["type"] == "InternalIP"]
        return min((int(ipaddress.ip_address(text)) ^ target for text in texts), default=1 << 128)

    nodes = (await client.list(NODES)).items
    if not nodes:
        raise click.ClickException("there is no node whose agent could look after it")
    return str(min(nodes, key=distance)["metadata"]["name"])


async def _service_port(
    client: Client, name: str, namespace: str, port: int, target_port: int, protocol: str
) -> dict[str, Any]:
    """The slice's port, by the name the Service has for it; the Service is made if there is none."""
    try:
        found = await client.get(SERVICES, name, namespace=namespace)
    except NotFound:
        wanted = registration.service(name, port, target_port, protocol)
        found = await client.create(SERVICES, wanted, namespace=namespace)
    spec = found["spec"]
    if spec.get("selector"):
        raise click.ClickException(f"service/{name} selects Pods; register with one that has no selector")
    names = [p.get("name", "") for p in spec.get("ports") or () if p.get("protocol", "TCP") == protocol]
    if not names:
        raise click.ClickException(f"service/{name} has no {protocol} port")
    return {"name": names[0], "port": target_port, "protocol": protocol}


async def _renew(client: Client, name: str, namespace: str, seconds: int) -> None:
    lease = registration.lease(name, socket.gethostname(), seconds, datetime.now(UTC))
    try:
        await client.create(LEASES, lease, namespace=namespace)
    except AlreadyExists:
        await client.patch(LEASES, name, {"spec": lease["spec"]}, namespace=namespace)


async def _keep(client: Client, name: str, namespace: str, seconds: int, alive: Alive) -> None:
    while await alive():
        await _renew(client, name, namespace, seconds)
        await asyncio.sleep(seconds / 3)


async def _leave(client: Client, name: str, namespace: str) -> None:
    for resource in (ENDPOINT_SLICES, LEASES):
        try:
            await client.delete(resource, name, namespace=namespace)
        except NotFound:
            continue


def _alive(pid: int | None, unit: str) -> Alive:
    if pid is not None:
        process = Process(pid)

        async def running() -> bool:
            try:
                await asyncio.wait_for(process.ended(), 0.05)
            except TimeoutError:
                return True
            return False

        return running
    if unit:
        return lambda: _is_active(unit)

    async def always() -> bool:
        return True

    return always


async def _is_active(unit: str) -> bool:
    systemctl = shutil.which("systemctl")
    if systemctl is None:
        raise click.ClickException("--unit needs systemd")
    process = await asyncio.create_subprocess_exec(systemctl, "is-active", "--quiet", unit, env=os.environ)
    return await process.wait() == 0
