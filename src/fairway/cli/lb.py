"""`fairway lb`: addresses for Services of type LoadBalancer, and who answers for them on the network."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from pathlib import Path

import click

from fairway.cli.connection import connected, kubeconfig_option
from fairway.client import KubeConfigError
from fairway.running import run_component

ROLES = ("all", "controller", "speaker")


def _ranges(context: click.Context, option: click.Parameter, value: str) -> tuple[str, ...]:
    try:
        return tuple(str(ipaddress.ip_network(word.strip())) for word in value.split(",") if word.strip())
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.group(
    invoke_without_command=True, help="Give Services of type LoadBalancer addresses, and answer for them."
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="how to reach the API server (default: as kubectl looks for it)",
)
@click.option("--role", type=click.Choice(ROLES), default="all", show_default=True)
@click.option("--node", default="", help="speaker: this node's name (default: the host's)")
@click.option(
    "--interface", default="", help="speaker: the interface to answer on (default: of the default route)"
)
@click.option(
    "--default-class", type=bool, default=True, show_default=True, help="serve Services without a class"
)
@click.option("--leader-elect", type=bool, default=True, show_default=True, help="controller: one at a time")
@click.option("--lease-duration", type=click.IntRange(1, 60), default=1, show_default=True, help="seconds")
@click.option(
    "--balancer", type=bool, default=True, show_default=True, help="speaker: run HAProxy where asked for"
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("/run/fairway-lb"),
    show_default=True,
)
@click.option("--cluster-cidr", default="", callback=_ranges, help="the Pods' ranges (default: as Nodes say)")
@click.pass_context
def command(
    context: click.Context,
    kubeconfig: Path | None,
    role: str,
    node: str,
    interface: str,
    default_class: bool,
    leader_elect: bool,
    lease_duration: int,
    balancer: bool,
    data: Path,
    cluster_cidr: tuple[str, ...],
) -> None:
    if context.invoked_subcommand:
        return
    from fairway.lb.config import Config, Terms
    from fairway.lb.run import run

    config = Config(
        kubeconfig=kubeconfig,
        controller=role != "speaker",
        speaker=role != "controller",
        node=node or socket.gethostname(),
        interface=interface or (_default_interface() if role != "controller" else ""),
        default_class=default_class,
        leader_elect=leader_elect,
        terms=Terms(lease_duration, margin=0.2 * lease_duration),
        balancer=balancer,
        data=data,
        cluster_cidr=cluster_cidr,
    )
    try:
        run_component("lb", run(config))
    except* (KubeConfigError, OSError) as group:
        raise click.ClickException(_first(group)) from None


@command.command("drill", help="Move a Service's address to another node and measure the outage.")
@kubeconfig_option
@click.option("--namespace", "-n", default="default", show_default=True)
@click.argument("name")
def drill_command(kubeconfig: str | None, namespace: str, name: str) -> None:
    from fairway.lb.drill import DrillError, drill

    try:
        report = asyncio.run(connected(kubeconfig, "lb", lambda client: drill(client, name, namespace)))
    except DrillError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{report.address} moved from {report.before} to {report.after}", nl=False)
    click.echo(f" in {report.moved_seconds * 1000:.0f} ms")
    if report.failed == report.probes:
        click.echo("no connection could be made from here, before or after: nothing was measured")
        return
    click.echo(f"{report.probes} connections tried, {report.failed} failed", nl=False)
    click.echo(f"; longest outage {report.outage_seconds * 1000:.0f} ms")


def _default_interface() -> str:
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        words = line.split()
        if words[1] == "00000000":
            return words[0]
    raise click.ClickException("there is no default route to tell the interface by; name it with --interface")


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)
