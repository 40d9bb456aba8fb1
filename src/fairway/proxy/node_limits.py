"""What the proxy tells the node's kernel once, on start: forwarding, connection tracking, its own importance.

What can't be set is told and left: a proxy in a namespace may not touch what belongs to the whole machine.
"""

from __future__ import annotations

import contextlib
import os

import structlog

from fairway.kernel import sysctl
from fairway.proxy.config import ConntrackLimits

log = structlog.get_logger()

_CONNTRACK = "net/netfilter/nf_conntrack_"


def forward_packets() -> None:
    """Without this the kernel would drop what it has translated for others."""
    sysctl.write("net/ipv4/ip_forward", "1")
    with contextlib.suppress(FileNotFoundError):  # a kernel without IPv6
        sysctl.write("net/ipv6/conf/all/forwarding", "1")


def wanted(limits: ConntrackLimits, cores: int) -> dict[str, int]:
    """The values to set, by their names; zeros leave the kernel's own."""
    values = {
        "tcp_timeout_established": int(limits.tcp_timeout_established),
        "tcp_timeout_close_wait": int(limits.tcp_timeout_close_wait),
        "tcp_be_liberal": int(limits.tcp_be_liberal),
        "udp_timeout": int(limits.udp_timeout),
        "udp_timeout_stream": int(limits.udp_timeout_stream),
    }
    if limits.max_per_core:
        values["max"] = max(limits.min, limits.max_per_core * cores)
    return {name: value for name, value in values.items() if value}


def limit_connections(limits: ConntrackLimits) -> None:
    for name, value in wanted(limits, os.cpu_count() or 1).items():
        try:
            current = int(sysctl.read(_CONNTRACK + name))
            # Someone who allows more connections than we need has reasons.
            if current == value or (name == "max" and current > value):
                continue
            sysctl.write(_CONNTRACK + name, str(value))
            log.info("set", sysctl=_CONNTRACK + name, value=value, before=current)
        except (OSError, ValueError) as error:
            log.info("left as it is", sysctl=_CONNTRACK + name, wanted=value, error=str(error))


def weigh(score: int | None) -> None:
    """How willingly the kernel ends this process when memory runs out."""
    if score is None:
        return
    try:
        sysctl.write_own("oom_score_adj", str(score))
    except OSError as error:
        log.info("left as it is", what="oom_score_adj", wanted=score, error=str(error))
