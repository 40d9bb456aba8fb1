"""The flags of `fairway proxy`, one line each; what they mean together is in `proxy`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fairway.proxy.config import (
    HEALTHZ_PORT,
    IPVS_SCHEDULERS,
    METRICS_PORT,
    SCHEDULERS,
    STYLES,
    ConntrackLimits,
)
from fairway.proxy.settings import LocalDetection
from fairway.proxy.spelling import (
    PRIMARY,
    address,
    duration,
    listening,
    node_ranges,
    port_range,
    ranges,
    words,
)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
# kube-proxy's own value: the last process to be killed when memory runs out.
OOM_SCORE = -999
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
        "--proxy-port-range", port_range, text="accepted; the userspace mode takes no port of the node's"
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


def with_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag in reversed(FLAGS):
        command = flag(command)
    return command
