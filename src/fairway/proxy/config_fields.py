"""The fields of a KubeProxyConfiguration (kubeproxy.config.k8s.io/v1alpha1): how each is read and written,
and where it goes in a `Config`.

One table; reading a file and finding the line of a mistake is in `config_file`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairway.proxy.config import HEALTHZ_PORT, IPVS_SCHEDULERS, METRICS_PORT, Config
from fairway.proxy.settings import LocalDetection
from fairway.proxy.spelling import (
    address,
    duration,
    listening,
    node_ranges,
    port_range,
    ranges,
    spell_duration,
    spell_listening,
    spell_port_range,
    within,
    words,
)

API_VERSION, KIND = "kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"


@dataclass(frozen=True, slots=True)
class Field:
    """`name` is the Config's; empty for what is accepted and does nothing. `kind` is what YAML must give."""

    name: str
    kind: type | tuple[type, ...] = str
    read: Callable[[Any], Any] = lambda value: value
    write: Callable[[Any], Any] = lambda value: value


def _text(name: str, read: Callable[[str], Any] = str.strip) -> Field:
    return Field(name, str, read, lambda value: "" if value is None else str(value))


def _switch(name: str) -> Field:
    return Field(name, bool)


def _number(name: str, low: int = 0, high: int = 1 << 31) -> Field:
    return Field(name, int, within(low, high))


def _duration(name: str) -> Field:
    return Field(name, (str, int), lambda value: duration(str(value)), spell_duration)


def _choice(name: str, options: tuple[str, ...]) -> Field:
    def read(text: str) -> str:
        if text not in options:
            raise ValueError(f"{text!r} is none of {', '.join(options)}")
        return text

    return Field(name, str, read, str)


def _listening(name: str, port: int) -> Field:
    return Field(name, str, lambda text: listening(text, port), spell_listening)


def _detection(text: str) -> LocalDetection:
    try:
        return LocalDetection(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is none of {', '.join(LocalDetection)}") from error


def _section(name: str) -> dict[str, Field]:
    """What iptables, ipvs and nftables have alike."""
    return {
        f"{name}.syncPeriod": _duration("sync_period"),
        f"{name}.minSyncPeriod": _duration("min_sync_period"),
    }


def _masquerading(name: str) -> dict[str, Field]:
    return {
        f"{name}.masqueradeBit": _number("masquerade_bit", 0, 31),
        f"{name}.masqueradeAll": _switch("masquerade_all"),
    }


FIELDS: dict[str, Field] = {
    "mode": _text("proxy_mode"),
    "hostnameOverride": _text("hostname_override", lambda text: text.strip().lower()),
    "bindAddress": _text("bind_address", lambda text: address(text)),
    "healthzBindAddress": _listening("healthz_bind_address", HEALTHZ_PORT),
    "metricsBindAddress": _listening("metrics_bind_address", METRICS_PORT),
    "bindAddressHardFail": _switch("bind_address_hard_fail"),
    "clientConnection.kubeconfig": _text("kubeconfig", Path),
    "clusterCIDR": Field("cluster_cidr", str, lambda text: ranges(words(text)), ",".join),
    "detectLocalMode": Field("detect_local_mode", str, _detection, str),
    "detectLocal.bridgeInterface": _text("pod_bridge_interface"),
    "detectLocal.interfaceNamePrefix": _text("pod_interface_name_prefix"),
    "nodePortAddresses": Field("nodeport_addresses", list, node_ranges, list),
    "oomScoreAdj": _number("oom_score_adj", -1000, 1000),
    "portRange": Field("proxy_port_range", str, port_range, spell_port_range),
    **_section("iptables"),
    **_masquerading("iptables"),
    "iptables.localhostNodePorts": _switch("iptables_localhost_nodeports"),
    **_section("nftables"),
    **_masquerading("nftables"),
    **_section("ipvs"),
    "ipvs.scheduler": _choice("ipvs_scheduler", IPVS_SCHEDULERS),
    "ipvs.strictARP": _switch("ipvs_strict_arp"),
    "ipvs.excludeCIDRs": Field("ipvs_exclude_cidrs", list, ranges, list),
    "conntrack.maxPerCore": _number("conntrack.max_per_core"),
    "conntrack.min": _number("conntrack.min"),
    "conntrack.tcpEstablishedTimeout": _duration("conntrack.tcp_timeout_established"),
    "conntrack.tcpCloseWaitTimeout": _duration("conntrack.tcp_timeout_close_wait"),
    "conntrack.tcpBeLiberal": _switch("conntrack.tcp_be_liberal"),
    "conntrack.udpTimeout": _duration("conntrack.udp_timeout"),
    "conntrack.udpStreamTimeout": _duration("conntrack.udp_timeout_stream"),
    "logging.verbosity": _number("verbosity"),
}

# Accepted so that files of real clusters can be used as they are. A name ending in `.` is a whole section.
WITHOUT_EFFECT = {
    "featureGates.": "there are no feature gates",
    "clientConnection.acceptContentTypes": "the client chooses its content type",
    "clientConnection.contentType": "the client chooses its content type",
    "clientConnection.qps": "requests are not limited: one watch each is all there is",
    "clientConnection.burst": "requests are not limited: one watch each is all there is",
    "configSyncPeriod": "watches need no refreshing",
    "enableProfiling": "there is no profiler",
    "showHiddenMetricsForVersion": "no metric is hidden",
    "iptables.snatNodeInternalIP": "masquerading uses the address of the device that packets leave by",
    "ipvs.tcpTimeout": "the kernel's own time-outs are used",
    "ipvs.tcpFinTimeout": "the kernel's own time-outs are used",
    "ipvs.udpTimeout": "the kernel's own time-outs are used",
    "conntrack.max": "use maxPerCore",
    "udpIdleTimeout": "UDP flows end with connection tracking",
    "resourceContainer": "it is for whoever starts the proxy to choose a cgroup",
    "logging.": "lines are always key=value",
    "winkernel.": "this is Linux",
    "windowsRunAsService": "this is Linux",
}


def section_of(mode: str) -> str:
    """Which of the sections counts; those of the other modes are only checked."""
    return mode if mode in ("nftables", "ipvs") else "iptables"


def applies(path: str, mode: str) -> bool:
    section, _, name = path.partition(".")
    if section not in ("iptables", "nftables", "ipvs"):
        return True
    # Fields that only one mode has are kept whatever the mode is; ipvs takes its mark from iptables.
    shared = name in ("syncPeriod", "minSyncPeriod")
    marks = name in ("masqueradeBit", "masqueradeAll")
    if marks and section_of(mode) == "ipvs":
        return section == "iptables"
    return not (shared or marks) or section == section_of(mode)


def written(config: Config) -> dict[str, Any]:
    """The configuration in force, as a KubeProxyConfiguration."""
    values = _flat(asdict(config))
    document: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    for path, field in FIELDS.items():
        value = values[field.name]
        if not applies(path, config.proxy_mode) or (value is None and field.kind is int):
            continue
        *sections, last = path.split(".")
        inner = document
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[last] = field.write(value)
    return document


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_flattened(values))


def _flattened(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and name == "conntrack":
            yield from _flattened(value, f"{name}.")
        else:
            yield f"{prefix}{name}", value
