"""How commands reach an API server: which kubeconfig, and errors in words a person can use."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from fairway.client import Client, ClientError, KubeConfig, Unavailable

T = TypeVar("T")

DEFAULT_DATA = Path.home() / ".fairway"

kubeconfig_option = click.option(
    "--kubeconfig", envvar="KUBECONFIG", help="default: $KUBECONFIG, else that of `fairway up`"
)
data_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_DATA,
    show_default="~/.fairway",
    help="the cluster's directory",
)


def find_kubeconfig(given: str | None) -> Path:
    if given:
        return Path(given)
    ours, usual = DEFAULT_DATA / "kubeconfig", Path.home() / ".kube" / "config"
    for path in (ours, usual):
        if path.exists():
            return path
    raise click.ClickException(
        "no kubeconfig: start a cluster with `fairway up`, or name one with --kubeconfig"
    )


async def connected(given: str | None, component: str, work: Callable[[Client], Awaitable[T]]) -> T:
    """Run `work` with a client; what goes wrong on the way becomes a message and exit code 1."""
    path = find_kubeconfig(given)
    try:
        async with Client(KubeConfig.load(os.fspath(path)), component=component) as client:
            return await work(client)
    except Unavailable as error:
        raise click.ClickException(f"{error}\nIs the cluster up? Its kubeconfig is {path}.") from error
    except ClientError as error:
        raise click.ClickException(f"Error from server: {error}") from error
