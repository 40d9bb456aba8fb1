"""`fairway controllers`: the control loops, against Fairway or any Kubernetes."""

from __future__ import annotations

from pathlib import Path

import click

from fairway.controllers.catalog import CONTROLLERS
from fairway.controllers.config import Config, UnknownController, chosen
from fairway.controllers.run import run
from fairway.running import run_component


@click.command(help=f"Run the controllers. There are: {', '.join(CONTROLLERS)}.")
@click.option("--kubeconfig", type=click.Path(path_type=Path, exists=True), required=True)
@click.option(
    "--controllers",
    default="*",
    show_default=True,
    help="a list with commas: * for all, NAME to add one, -NAME to leave one out",
)
@click.option("--leader-elect/--no-leader-elect", default=False, help="for several processes, one at work")
@click.option("--identity", default="", help="this process's name in the election (default: host and pid)")
@click.option(
    "--root-ca-file",
    type=click.Path(path_type=Path, exists=True),
    help="what Pods verify the API server by (default: the CA in the kubeconfig)",
)
def command(
    kubeconfig: Path, controllers: str, leader_elect: bool, identity: str, root_ca_file: Path | None
) -> None:
    selection = tuple(part.strip() for part in controllers.split(",") if part.strip())
    try:
        chosen(selection, CONTROLLERS)
    except UnknownController as error:
        raise click.BadParameter(str(error), param_hint="--controllers") from error
    run_component("controllers", run(Config(kubeconfig, selection, leader_elect, identity, root_ca_file)))
