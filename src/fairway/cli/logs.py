"""`fairway logs`: what containers have written."""

from __future__ import annotations

import re
import sys

import click
import uvloop

from fairway.api.resources import PODS
from fairway.cli.catalog import read_catalog
from fairway.cli.connection import connected, kubeconfig_option, namespace_option
from fairway.cli.selection import select
from fairway.client import Client

_UNITS = {"s": 1, "m": 60, "h": 3600}


@click.command(help="Show what a container has written: fairway logs POD, or deployment/NAME and the like")
@kubeconfig_option
@namespace_option
@click.option("-c", "--container", default="", help="the Pod's only container if left out")
@click.option("-f", "--follow", is_flag=True, help="go on showing what comes")
@click.option("-p", "--previous", is_flag=True, help="of the run before the last restart")
@click.option("--tail", default=-1, type=int, help="only the last lines")
@click.option("--since", default="", help="only from the last 5s, 2m, 3h on")
@click.option("--timestamps", is_flag=True)
@click.argument("target")
def command(
    kubeconfig: str | None,
    namespace: str,
    container: str,
    follow: bool,
    previous: bool,
    tail: int,
    since: str,
    timestamps: bool,
    target: str,
) -> None:
    wanted = {
        "container": container,
        "follow": "true" if follow else "",
        "previous": "true" if previous else "",
        "tailLines": str(tail) if tail >= 0 else "",
        "sinceSeconds": str(seconds(since)) if since else "",
        "timestamps": "true" if timestamps else "",
    }
    params = {name: value for name, value in wanted.items() if value}

    async def work(client: Client) -> None:
        pod = await pod_of(client, target, namespace)
        async with client.stream(PODS.path(namespace, pod, "log"), params=params) as chunks:
            async for chunk in chunks:
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()

    uvloop.run(connected(kubeconfig, "logs", work))


def seconds(text: str) -> int:
    """`90s`, `1h30m`: as Go writes durations, or a number of seconds."""
    parts = re.findall(r"(\d+)([smh])", text)
    if text.isdecimal():
        return int(text)
    if "".join(number + unit for number, unit in parts) != text or not parts:
        raise click.UsageError(f'"{text}" is no duration: write 5s, 2m or 3h')
    return sum(int(number) * _UNITS[unit] for number, unit in parts)


async def pod_of(client: Client, target: str, namespace: str) -> str:
    """A Pod's name; of a workload or a Service, the first of its Pods."""
    if "/" not in target:
        return target
    (selected,) = select(await read_catalog(client), (target,))
    if selected.resource == PODS:
        return selected.name
    obj = await client.get(selected.resource, selected.name, namespace=namespace)
    selector = (obj.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels", selector)
    text = ",".join(f"{name}={value}" for name, value in labels.items())
    if not text:
        raise click.ClickException(f"{target} selects no Pods")
    pods = (await client.list(PODS, namespace=namespace, label_selector=text)).items
    if not pods:
        raise click.ClickException(f"{target} has no Pods")
    names = sorted(pod["metadata"]["name"] for pod in pods)
    if len(names) > 1:
        click.echo(f"Found {len(names)} pods, using pod/{names[0]}", err=True)
    return str(names[0])
