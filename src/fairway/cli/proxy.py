"""`fairway proxy`: the node proxy, with the flags of kube-proxy."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fairway.client import KubeConfigError
from fairway.kernel.nftables import NftablesError
from fairway.proxy.config import PRIMARY, SCHEDULERS, Config
from fairway.proxy.modes import ModeNotBuilt, check_mode
from fairway.proxy.run import remove_rules, run
from fairway.running import run_component

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _ranges(context: click.Context, option: click.Parameter, value: str) -> tuple[str, ...]:
    words = [word.strip() for word in value.split(",") if word.strip()]
    try:
        return tuple(str(ipaddress.ip_network(word)) for word in words)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _addresses(context: click.Context, option: click.Parameter, value: str) -> tuple[str, ...]:
    return (PRIMARY,) if value == PRIMARY else _ranges(context, option, value)


def _switch(name: str, text: str, default: bool | None = False) -> Decorator:
    """`--name`, `--name=true` and `--name=false`, as Kubernetes' programs take them."""
    return click.option(name, type=bool, is_flag=False, flag_value=True, default=default, help=text)


@click.command(help="Carry the traffic of a cluster's Services on this node.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="how to reach the API server (default: as kubectl looks for it)",
)
@click.option("--hostname-override", default="", help="this node's name (default: the host's)")
@click.option("--proxy-mode", default="nftables", show_default=True)
@click.option("--cluster-cidr", default="", callback=_ranges, help="the Pods' ranges, with commas")
@click.option(
    "--service-cluster-ip-range",
    default="",
    callback=_ranges,
    help="the Services' ranges, with commas (default: as the API server's ServiceCIDRs say)",
)
@click.option(
    "--nodeport-addresses",
    default="",
    callback=_addresses,
    help=f"ranges of addresses that serve node ports, with commas, or {PRIMARY} (default: all)",
)
@_switch("--masquerade-all", "let Pods see this node's address for every client of a cluster IP")
@click.option("--nftables-scheduler", type=click.Choice(SCHEDULERS), default="random", show_default=True)
@_switch("--publish-progress", "default: only to a Fairway API server", default=None)
@_switch("--cleanup", "remove all rules and end")
def command(
    hostname_override: str, proxy_mode: str, publish_progress: bool | None, cleanup: bool, **options: Any
) -> None:
    try:
        if cleanup:
            remove_rules()
            return
        check_mode(proxy_mode)
        named: dict[str, Any] = (
            {"hostname_override": hostname_override.strip().lower()} if hostname_override else {}
        )
        run_component(
            "proxy", run(Config(proxy_mode=proxy_mode, publish_progress=publish_progress, **named, **options))
        )
    except (ModeNotBuilt, KubeConfigError, NftablesError) as error:
        raise click.ClickException(str(error)) from error
