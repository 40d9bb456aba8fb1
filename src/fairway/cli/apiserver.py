"""`fairway apiserver`: just the API server."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import click

from fairway.apiserver.admission import KNOWN_PLUGINS
from fairway.apiserver.config import Config
from fairway.apiserver.run import run
from fairway.cli.store import store_option
from fairway.running import run_component


def parse_port_range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and 0 < int(first) <= int(last) < 65536):
        raise click.BadParameter(f"{text!r} is not a range of ports; write it as 30000-32767")
    return int(first), int(last)


def parse_plugins(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if unknown := names - KNOWN_PLUGINS:
        raise click.BadParameter(
            f"there is no plugin {', '.join(sorted(unknown))}; there are {', '.join(sorted(KNOWN_PLUGINS))}",
            param_hint="--disable-admission-plugins",
        )
    return names


@click.command(help="Run the API server; its administrator's kubeconfig is DATA/kubeconfig.")
@click.option(
    "--data", type=click.Path(path_type=Path), required=True, help="directory for everything it keeps"
)
@click.option("--port", "--secure-port", default=6443, show_default=True)
@click.option(
    "--bind", "--bind-address", default="127.0.0.1", show_default=True, help="address, or several with commas"
)
@store_option
@click.option("--service-cluster-ip-range", default="10.96.0.0/16", show_default=True)
@click.option("--service-node-port-range", default="30000-32767", show_default=True)
@click.option("--advertise-address", default="", help="where other machines reach this server")
@click.option(
    "--token-auth-file", type=click.Path(path_type=Path, exists=True), help="token,user,uid,groups a line"
)
@click.option("--disable-admission-plugins", default="", help="ServiceAccount, Priority…: names with commas")
@click.option("--allow-privileged/--no-allow-privileged", default=False, show_default=True)
def command(
    data: Path,
    port: int,
    bind: str,
    store: str,
    service_cluster_ip_range: str,
    service_node_port_range: str,
    advertise_address: str,
    token_auth_file: Path | None,
    disable_admission_plugins: str,
    allow_privileged: bool,
) -> None:
    try:
        networks = tuple(ipaddress.ip_network(part.strip()) for part in service_cluster_ip_range.split(","))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--service-cluster-ip-range") from error
    config = Config(
        data=data,
        port=port,
        bind=tuple(part.strip() for part in bind.split(",")),
        store=store,
        service_networks=networks,
        node_ports=parse_port_range(service_node_port_range),
        advertise_address=advertise_address,
        token_file=token_auth_file,
        disabled_admission=parse_plugins(disable_admission_plugins),
        allow_privileged=allow_privileged,
    )
    run_component("apiserver", run(config))
