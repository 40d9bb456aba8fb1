"""`fairway ingress`: HTTP from outside to Services, carried by nginx; and what is wrong with Ingresses."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import uvloop

from fairway.api.resources import INGRESSES
from fairway.cli.connection import connected
from fairway.client import Client, KubeConfigError
from fairway.ingress.annotations import PREFIX, SUPPORTED, read
from fairway.ingress.config import CONTROLLER, Config
from fairway.ingress.nginx import NginxError
from fairway.ingress.objects import Ingress
from fairway.ingress.run import run
from fairway.running import run_component

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_kubeconfig = click.option(
    "--kubeconfig", type=_FILE, help="how to reach the API server (default: as kubectl looks for it)"
)


@click.group(invoke_without_command=True, help="Carry HTTP from outside to Services, as Ingresses say.")
@_kubeconfig
@click.option("--data", type=click.Path(path_type=Path), help="a folder for nginx's files")
@click.option("--bind", default="0.0.0.0,[::]", show_default=True, help="addresses, with commas")
@click.option("--http-port", default=80, show_default=True)
@click.option("--https-port", default=443, show_default=True)
@click.option("--status-port", default=10254, show_default=True, help="health and metrics, on 127.0.0.1")
@click.option("--workers", default=0, help="processes of nginx (default: one for each processor)")
@click.option(
    "--controller-class",
    multiple=True,
    help=f"controllers whose IngressClasses are ours (default: {CONTROLLER})",
)
@click.option("--watch-ingress-without-class", is_flag=True, help="also those without any class")
@click.option("--publish-service", default="", help="namespace/name of the Service in front of nginx")
@click.option("--publish-status-address", default="", help="addresses for the status, with commas")
@click.pass_context
def command(context: click.Context, /, kubeconfig: Path | None, data: Path | None, **options: object) -> None:
    if context.invoked_subcommand:
        context.obj = kubeconfig
        return
    with tempfile.TemporaryDirectory(prefix="fairway-ingress.") as scratch:
        try:
            run_component("ingress", run(_config(kubeconfig, data or Path(scratch), options)))
        except* (KubeConfigError, NginxError, OSError) as group:
            raise click.ClickException(str(group.exceptions[0])) from None


def _config(kubeconfig: Path | None, data: Path, options: dict[str, object]) -> Config:
    classes = options["controller_class"]
    assert isinstance(classes, tuple)
    return Config(
        data=data,
        kubeconfig=kubeconfig,
        controllers=frozenset(classes) or frozenset({CONTROLLER}),
        watch_without_class=bool(options["watch_ingress_without_class"]),
        bind=_words(options["bind"]),
        http_port=int(str(options["http_port"])),
        https_port=int(str(options["https_port"])),
        status_port=int(str(options["status_port"])),
        workers=int(str(options["workers"])),
        publish_service=str(options["publish_service"]),
        publish_addresses=_words(options["publish_status_address"]),
    )


def _words(text: object) -> tuple[str, ...]:
    return tuple(word.strip() for word in str(text).split(",") if word.strip())


@command.command(
    "report", help="Which annotations of ingress-nginx in this cluster work here, and which don't."
)
@click.pass_obj
def report(kubeconfig: Path | None) -> None:
    async def work(client: Client) -> list[Ingress]:
        return (await client.list(INGRESSES, type=Ingress)).items

    ingresses = uvloop.run(connected(str(kubeconfig) if kubeconfig else None, "ingress", work))
    used = sorted({n for i in ingresses for n in i.metadata.annotations or () if n.startswith(PREFIX)})
    for name in used:
        known = name.removeprefix(PREFIX) in SUPPORTED
        click.echo(f"{'works  ' if known else 'ignored'}  {name}")
    for ingress in ingresses:
        for problem in read(ingress.metadata.annotations).problems:
            click.echo(f"{ingress.metadata.key}: {problem}")
    if not used:
        click.echo(f"{len(ingresses)} Ingresses, none with annotations of ingress-nginx.")
