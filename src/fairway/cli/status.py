"""`fairway status`: how the cluster on this machine is doing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import uvloop

from fairway.api.resources import NODES, PODS
from fairway.cli.connection import connected, data_option
from fairway.cli.printing import aligned
from fairway.client import Client
from fairway.cluster.record import Record, read_record


@click.command(help="Say whether a cluster is up on this machine, and how its nodes and Pods are.")
@data_option
def command(data: Path) -> None:
    data = data.expanduser().resolve()
    record = read_record(data)
    if record is None:
        click.echo(f"no cluster is up in {data}: start one with `fairway up`")
        sys.exit(1)
    alive = _is_alive(record.pid)
    click.echo(_summary(data, record, alive), nl=False)
    if not alive:
        click.echo("\nits supervisor is gone: `fairway up` brings it back, `fairway down` takes it away")
        sys.exit(1)
    sys.exit(uvloop.run(connected(str(data / "kubeconfig"), "status", _show_nodes)))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _summary(data: Path, record: Record, alive: bool) -> str:
    layout = record.layout
    return aligned(
        [
            ["cluster", f"{'up' if alive else 'broken'}, in {data}"],
            ["supervisor", f"process {record.pid}" if alive else "not running"],
            ["API server", f"https://127.0.0.1:{record.port}"],
            ["KUBECONFIG", str(data / "kubeconfig")],
            ["proxy mode", record.proxy_mode],
            ["Services", str(layout.service_network)],
            ["Pods", str(layout.pod_network)],
            ["DNS", str(layout.dns_address)],
        ]
    )


async def _show_nodes(client: Client) -> int:
    nodes = (await client.list(NODES)).items
    pods = (await client.list(PODS)).items
    rows = [["NODE", "STATUS", "ADDRESS", "PODS", "READY"]]
    healthy = True
    for node in nodes:
        name = node["metadata"]["name"]
        mine = [pod for pod in pods if pod["spec"].get("nodeName") == name]
        ready = _condition(node, "Ready")
        healthy = healthy and ready
        address = next(
            (a["address"] for a in node["status"].get("addresses") or () if a["type"] == "InternalIP"), ""
        )
        count = sum(_condition(pod, "Ready") for pod in mine)
        rows.append([name, "Ready" if ready else "NotReady", address, str(len(mine)), str(count)])
    click.echo("\n" + aligned(rows), nl=False)
    return 0 if healthy and nodes else 1


def _condition(obj: dict[str, object], kind: str) -> bool:
    status = obj.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    return any(c["type"] == kind and c["status"] == "True" for c in conditions or ())
