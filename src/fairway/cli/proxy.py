"""`fairway proxy`: the node proxy, with the flags of kube-proxy.

Only flags, and how they become a configuration, belong here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import yaml
from click.core import ParameterSource

from fairway.client import KubeConfigError
from fairway.kernel.nftables import NftablesError
from fairway.proxy.config import (
    HEALTHZ_PORT,
    IPVS_SCHEDULERS,
    METRICS_PORT,
    SCHEDULERS,
    STYLES,
    Config,
    ConfigError,
    ConntrackLimits,
    check,
)
from fairway.proxy.config_fields import WITHOUT_EFFECT, section_of, written
from fairway.proxy.config_file import read_config
from fairway.proxy.leftovers import CleanupFailed, remove_rules
from fairway.proxy.modes import ModeNotBuilt, check_mode
from fairway.proxy.run import run
from fairway.proxy.settings import LocalDetection
from fairway.proxy.spelling import (
    PRIMARY,
    address,
    duration,
    feature_gates,
    listening,
    node_ranges,
    port_range,
    ranges,
    words,
)
from fairway.running import run_component

EXPECTED = (CleanupFailed, ConfigError, ModeNotBuilt, KubeConfigError, NftablesError)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
# kube-proxy's own value: the last process to be killed when memory runs out.
OOM_SCORE = -999
# Flags that kube-proxy honours beside --config, and those that only Fairway has.
BESIDE_FILE = {"hostname_override", "master", "v", "config", "cleanup", "write_config_to"}
OURS = {"service_cluster_ip_range", "nftables_scheduler", "iptables_style", "publish_progress"}
# Accepted, as scripts for kube-proxy have them; the reasons are those of the fields in a file.
IGNORED = {
    "kube_api_content_type": "clientConnection.contentType",
    "kube_api_qps": "clientConnection.qps",
    "kube_api_burst": "clientConnection.burst",
    "config_sync_period": "configSyncPeriod",
    "profiling": "enableProfiling",
    "show_hidden_metrics_for_version": "showHiddenMetricsForVersion",
    "ipvs_tcp_timeout": "ipvs.tcpTimeout",
    "ipvs_tcpfin_timeout": "ipvs.tcpFinTimeout",
    "ipvs_udp_timeout": "ipvs.udpTimeout",
    "feature_gates": "featureGates.",
    "logging_format": "logging.",
    "vmodule": "logging.",
}
PERIODS = tuple(f"{m}_{kind}sync_period" for m in ("iptables", "nftables", "ipvs") for kind in ("", "min_"))


def _option(
    name: str, read: Callable[[str], Any] = str.strip, default: str = "", text: str = ""
) -> Decorator:
    """A flag whose value `read` understands; what it refuses is said with the flag's name."""

    def callback(context: click.Context, option: click.Parameter, value: str) -> Any:
        try:
            return read(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    shown = bool(default)
    return click.option(name, default=default, callback=callback, help=text, show_default=shown)


def _switch(name: str, text: str, default: bool | None = False) -> Decorator:
    """`--name`, `--name=true` and `--name=false`, as Kubernetes' programs take them."""
    return click.option(name, type=bool, is_flag=False, flag_value=True, default=default, help=text)


def _ranges(text: str) -> tuple[str, ...]:
    return ranges(words(text))


def _number(name: str, low: int, high: int, default: int, text: str) -> Decorator:
    return click.option(
        name, type=click.IntRange(low, high), default=default, show_default=True, help=text, metavar="N"
    )


def _path(name: str, text: str, exists: bool = True) -> Decorator:
    return click.option(name, type=click.Path(path_type=Path, exists=exists, dir_okay=False), help=text)


_LIMITS = ConntrackLimits()
_LARGE = 1 << 31
FLAGS: tuple[Decorator, ...] = (
    _path("--config", "a KubeProxyConfiguration; then only the flags that say so count"),
    _path("--kubeconfig", "how to reach the API server (default: as kubectl looks for it)"),
    _option("--master", text="the API server's address, if not the kubeconfig's; counts beside --config"),
    _option("--hostname-override", text="this node's name (default: the host's); counts beside --config"),
    _option("--proxy-mode", default="nftables"),
    _option(
        "--bind-address", lambda t: address(t) if t else "", text="this node's address (default: its Node's)"
    ),
    _option(
        "--healthz-bind-address",
        lambda text: listening(text, HEALTHZ_PORT),
        f"0.0.0.0:{HEALTHZ_PORT}",
        "where /healthz and /livez are served; empty for nowhere",
    ),
    _option(
        "--metrics-bind-address",
        lambda text: listening(text, METRICS_PORT),
        f"127.0.0.1:{METRICS_PORT}",
        "where /metrics, /rules, /proxyMode and /configz are served; empty for nowhere",
    ),
    _switch("--bind-address-hard-fail", "end if one of these can't be served"),
    _option("--cluster-cidr", _ranges, text="the Pods' ranges, with commas"),
    click.option(
        "--detect-local-mode",
        type=click.Choice([str(mode) for mode in LocalDetection]),
        default=str(LocalDetection.CLUSTER_CIDR),
        show_default=True,
        help="how Pods are told from strangers",
    ),
    _option("--pod-bridge-interface", text="the Pods' bridge, for BridgeInterface"),
    _option("--pod-interface-name-prefix", text="how the Pods' devices begin, for InterfaceNamePrefix"),
    _option(
        "--service-cluster-ip-range",
        _ranges,
        text="the Services' ranges, with commas (default: as the API server's ServiceCIDRs say)",
    ),
    _option(
        "--nodeport-addresses",
        lambda text: node_ranges(words(text)),
        text=f"ranges of addresses that serve node ports, with commas, or {PRIMARY} (default: all)",
    ),
    _switch("--masquerade-all", "let Pods see this node's address for every client of a cluster IP"),
    _number(
        "--iptables-masquerade-bit", 0, 31, 14, "the bit of the packet mark for masquerading, in any mode"
    ),
    _switch(
        "--iptables-localhost-nodeports", "serve node ports on 127.0.0.1, in iptables mode", default=True
    ),
    click.option("--iptables-style", type=click.Choice(STYLES), default="current", show_default=True),
    *(_option(f"--{name.replace('_', '-')}", duration, default="0") for name in PERIODS),
    click.option("--nftables-scheduler", type=click.Choice(SCHEDULERS), default="random", show_default=True),
    click.option("--ipvs-scheduler", type=click.Choice(IPVS_SCHEDULERS), default="rr", show_default=True),
    _switch("--ipvs-strict-arp", "answer ARP only for addresses of the device asked"),
    _option("--ipvs-exclude-cidrs", _ranges, text="ranges that the ipvs mode leaves alone, with commas"),
    _option(
        "--proxy-port-range", port_range, text="ports that the userspace mode may use, such as 40000-41000"
    ),
    _number("--conntrack-max-per-core", 0, _LARGE, _LIMITS.max_per_core, "0: leave the kernel's limit"),
    _number("--conntrack-min", 0, _LARGE, _LIMITS.min, "the limit is at least this"),
    _option("--conntrack-tcp-timeout-established", duration, "24h", "0: leave as it is"),
    _option("--conntrack-tcp-timeout-close-wait", duration, "1h", "0: leave as it is"),
    _switch("--conntrack-tcp-be-liberal", "accept packets outside the TCP window"),
    _option("--conntrack-udp-timeout", duration, "0", "0: leave as it is"),
    _option("--conntrack-udp-timeout-stream", duration, "0", "0: leave as it is"),
    _number(
        "--oom-score-adj", -1000, 1000, OOM_SCORE, "how willingly the kernel kills this when memory is out"
    ),
    click.option("-v", "--v", type=int, default=0, help="4 and more: tell more; counts beside --config"),
    _switch("--publish-progress", "default: only to a Fairway API server", default=None),
    *(click.option(f"--{name.replace('_', '-')}", hidden=True) for name in IGNORED),
    _path(
        "--write-config-to", "write the configuration that these flags make to a file and end", exists=False
    ),
    _switch("--cleanup", "remove all rules of all modes and end; needs no API server"),
)


def _with_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag in reversed(FLAGS):
        command = flag(command)
    return command


@click.command(help="Carry the traffic of a cluster's Services on this node.")
@_with_flags
@click.pass_context
def command(context: click.Context, /, cleanup: bool, write_config_to: Path | None, **options: Any) -> None:
    try:
        if cleanup:
            remove_rules()
            return
        config = configured(context, options)
        if write_config_to:
            write_config_to.write_text(yaml.safe_dump(written(config), sort_keys=False))
            return
        check_mode(config.proxy_mode)
        level = logging.DEBUG if config.verbosity >= 4 else logging.INFO
        run_component("proxy", run(config), level)
    except EXPECTED as error:
        raise click.ClickException(str(error)) from error
    except ExceptionGroup as group:
        # What one of several tasks has raised.
        expected = group.subgroup(EXPECTED)
        if expected is None:
            raise
        raise click.ClickException(str(_first(expected))) from group


def _first(error: Exception) -> Exception:
    return _first(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def configured(context: click.Context, options: dict[str, Any]) -> Config:
    """What flags, or the file and the flags that count beside it, make."""
    given = {name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    file: Path | None = options.pop("config")
    if file is None:
        return check(_from_flags(given, options))
    own = _from_flags(given & OURS, {name: options[name] for name in OURS})
    config = read_config(file, replace(own, oom_score_adj=OOM_SCORE))
    idle = {f"--{name.replace('_', '-')}": "--config is given" for name in given - BESIDE_FILE - OURS}
    config = replace(config, master=options["master"], without_effect={**config.without_effect, **idle})
    if options["hostname_override"]:
        config = replace(config, hostname_override=options["hostname_override"].lower())
    return check(replace(config, verbosity=options["v"]) if "v" in given else config)


def _from_flags(given: set[str], options: dict[str, Any]) -> Config:
    values = dict(options)
    if "feature_gates" in given:
        _checked_gates(values["feature_gates"])
    ignored = {f"--{n.replace('_', '-')}": WITHOUT_EFFECT[IGNORED[n]] for n in IGNORED if n in given}
    for name in IGNORED:
        values.pop(name, None)
    if "proxy_mode" in values:
        values |= _periods(values["proxy_mode"], given, {name: values.pop(name) for name in PERIODS})
    limits = {n.removeprefix("conntrack_"): values.pop(n) for n in list(values) if n.startswith("conntrack_")}
    renamed = {"v": "verbosity", "iptables_masquerade_bit": "masquerade_bit"}
    values = {renamed.get(name, name): value for name, value in values.items()}
    if not values.get("hostname_override"):
        values.pop("hostname_override", None)
    else:
        values["hostname_override"] = values["hostname_override"].lower()
    if "detect_local_mode" in values:
        values["detect_local_mode"] = LocalDetection(values["detect_local_mode"])
    return Config(**values, conntrack=ConntrackLimits(**limits), without_effect=ignored)


def _periods(mode: str, given: set[str], periods: dict[str, float]) -> dict[str, float]:
    """The mode's own flags; those of iptables count for all modes but ipvs, as with kube-proxy."""
    section = section_of(mode)
    chosen = {}
    for kind in ("sync_period", "min_sync_period"):
        own = f"{section}_{kind}"
        fallback = own if section == "ipvs" else f"iptables_{kind}"
        chosen[kind] = periods[own if own in given else fallback]
    return chosen


def _checked_gates(text: str) -> None:
    try:
        feature_gates(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--feature-gates") from error
