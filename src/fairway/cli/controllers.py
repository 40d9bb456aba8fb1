"""`fairway controllers`: the control loops, with the flags of kube-controller-manager."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fairway.cli.durations import seconds
from fairway.client import KubeConfigError
from fairway.controllers.catalog import CONTROLLERS
from fairway.controllers.config import Config, Election, UnknownController, chosen
from fairway.controllers.run import run
from fairway.running import run_component

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _chosen(_context: click.Context, _option: click.Parameter, value: str) -> tuple[str, ...]:
    selection = tuple(part.strip() for part in value.split(",") if part.strip())
    try:
        chosen(selection, CONTROLLERS)
    except UnknownController as error:
        raise click.BadParameter(str(error)) from error
    return selection


def _duration(name: str, default: str, text: str) -> Decorator:
    return click.option(
        name, callback=seconds, metavar="DURATION", default=default, show_default=True, help=text
    )


@click.command(help=f"Run the controllers. There are: {', '.join(CONTROLLERS)}.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="how to reach the API server (default: as kubectl looks for it; in a Pod, its service account)",
)
@click.option(
    "--controllers",
    default="*",
    show_default=True,
    callback=_chosen,
    help="a list with commas: * for all, NAME to add one, -NAME to leave one out",
)
@click.option(
    "--root-ca-file",
    type=click.Path(path_type=Path, exists=True),
    help="what Pods verify the API server by (default: the CA in the kubeconfig)",
)
@click.option("--leader-elect/--no-leader-elect", default=False, help="for several processes, one at work")
@click.option("--identity", default="", help="this process's name in the election (default: host and pid)")
@_duration("--leader-elect-lease-duration", "15s", "how long others wait for a leader that fell silent")
@_duration("--leader-elect-renew-deadline", "10s", "how long a leader tries before it gives up")
@_duration("--leader-elect-retry-period", "2s", "how often the lease is renewed or tried for")
@click.option("--leader-elect-resource-name", default="fairway-controllers", show_default=True)
@click.option("--leader-elect-resource-namespace", default="kube-system", show_default=True)
@_duration("--node-monitor-period", "5s", "how often each node is looked at")
@_duration("--node-monitor-grace-period", "50s", "how long a node may be silent")
@click.option(
    "--terminated-pod-gc-threshold",
    type=int,
    default=12_500,
    show_default=True,
    help="how many ended Pods are kept; 0 for all",
)
def command(leader_elect_resource_name: str, leader_elect_resource_namespace: str, **settings: Any) -> None:
    election = Election(
        settings.pop("leader_elect_lease_duration"),
        settings.pop("leader_elect_renew_deadline"),
        settings.pop("leader_elect_retry_period"),
        leader_elect_resource_name,
        leader_elect_resource_namespace,
    )
    if not election.lease_duration > election.renew_deadline > election.retry_period:
        raise click.UsageError("the lease has to last longer than the renew deadline, and that than a retry")
    try:
        run_component("controllers", run(Config(election=election, **settings)))
    except KubeConfigError as error:
        raise click.ClickException(str(error)) from error
