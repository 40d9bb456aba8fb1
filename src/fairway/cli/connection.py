"""How commands reach an API server: which kubeconfig, and errors in words a person can use."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from fairway.client import ApiError, Client, ClientError, KubeConfig, Unavailable

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., None])

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

namespace_option = click.option("-n", "--namespace", default="default", show_default=True)


def namespace_options(function: F) -> F:
    """One namespace, or all of them."""
    everywhere = click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="in all namespaces")
    return namespace_option(everywhere(function))


def server_error(error: ApiError) -> int:
    """In kubectl's words, on standard error; returns the exit code that follows from it."""
    reason = f" ({error.reason})" if error.reason and error.status < 500 else ""
    click.echo(f"Error from server{reason}: {error}", err=True)
    return 1


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
    except ApiError as error:
        raise SystemExit(server_error(error)) from error
    except ClientError as error:
        raise click.ClickException(str(error)) from error
