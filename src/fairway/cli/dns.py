"""`fairway dns`: the DNS server."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from fairway.cli.dns_query import query
from fairway.client import KubeConfigError
from fairway.dns.config import Config
from fairway.dns.corefile import CorefileError
from fairway.dns.plugins.loop import LoopError
from fairway.dns.run import run
from fairway.running import run_component

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(
    invoke_without_command=True, help="Serve the names of a cluster's Services, and forward all others."
)
@click.option(
    "--kubeconfig", type=_FILE, help="how to reach the API server (default: as kubectl looks for it)"
)
@click.option("--conf", type=_FILE, help="a Corefile (default: the usual one of Kubernetes)")
@click.option("--bind", default="", help="address, or several with commas (default: all)")
@click.option("--port", "--dns.port", default=53, show_default=True)
@click.option(
    "--zone", default="cluster.local", show_default=True, help="without --conf: the cluster's domain"
)
@click.option(
    "--upstream", default="", help="without --conf: servers for other names (default: those of resolv.conf)"
)
@click.option(
    "--node-local",
    default="",
    help="serve this node at these link-local addresses (such as 169.254.20.10), without connection tracking",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="keep the cluster's last state here, for a start without API server; and take over without loss "
    "from a server that was started with the same",
)
@click.option("--publish-progress", type=bool, default=None, help="default: only to a Fairway API server")
@click.option(
    "--name", default="", help="tells several servers of a cluster apart (default: the host's name)"
)
@click.pass_context
def command(
    ctx: click.Context,
    kubeconfig: Path | None,
    conf: Path | None,
    bind: str,
    port: int,
    zone: str,
    upstream: str,
    node_local: str,
    data: Path | None,
    publish_progress: bool | None,
    name: str,
) -> None:
    if ctx.invoked_subcommand:
        return
    config = Config(
        kubeconfig=kubeconfig,
        conf=conf,
        bind=_words(bind),
        port=port,
        zone=zone,
        upstream=_words(upstream),
        node_local=_words(node_local),
        data=data,
        publish_progress=publish_progress,
        name=name or socket.gethostname(),
    )
    try:
        run_component("dns", run(config))
    except* (CorefileError, KubeConfigError, LoopError, OSError) as group:
        raise click.ClickException(_first(group)) from None


command.add_command(query)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.replace(",", " ").split() if word)


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    """The text of the one error that ended the server."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)
