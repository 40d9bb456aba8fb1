"""`--store`: where an API server keeps its objects."""

from __future__ import annotations

import click

SCHEMES = ("sqlite:///", "etcd://", "memory:")


def _checked(context: click.Context, parameter: click.Parameter, url: str) -> str:
    if url and not url.startswith(SCHEMES):
        raise click.BadParameter(f"{url!r}: write sqlite:///path, etcd://host:2379[,…] or memory://")
    return url


store_option = click.option(
    "--store",
    metavar="URL",
    default="",
    callback=_checked,
    help="sqlite:///path (default: under DATA), etcd://host:2379[,…] or memory://",
)
