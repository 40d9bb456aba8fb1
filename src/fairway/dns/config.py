"""How one DNS server is set up, and the Corefile it runs when it is given none."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from pathlib import Path

_USUAL = """\
.:{port} {{
    errors
    health {{
        lameduck 5s
    }}
    ready
    kubernetes {zone} in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }}
    prometheus :9153
{forward}    cache 30
    loop
    reload
    loadbalance
}}
"""
_FORWARD = """\
    forward . {to} {{
        prefer_udp
    }}
"""


@dataclass(frozen=True)
class Config:
    """`bind`, `port`, `zone` and `upstream` shape the usual Corefile; with `conf` only `bind` and `port`
    count, where the Corefile names none itself."""

    kubeconfig: Path | None = None
    """None: as kubectl looks for it."""
    bind: tuple[str, ...] = ()
    """Addresses; none means all of this machine's."""
    port: int = 53
    zone: str = "cluster.local"
    conf: Path | None = None
    upstream: tuple[str, ...] = ()
    """Servers for all other names; none means those of resolv.conf."""
    resolv_conf: Path = Path("/etc/resolv.conf")
    node_local: tuple[str, ...] = ()
    """Link-local addresses of this node's own server; with them `bind` is theirs."""
    data: Path | None = None
    """Where the last state of the cluster is kept, and where a successor finds this server."""
    publish_progress: bool | None = None
    """None: if the API server is Fairway's."""
    name: str = field(default_factory=socket.gethostname)
    """Tells this server from others of the cluster, in the name of its progress Lease."""


def usual_corefile(zone: str, port: int, forward_to: tuple[str, ...]) -> str:
    """What installers of Kubernetes ship. Without any server to forward to, other names are not served."""
    forward = _FORWARD.format(to=" ".join(forward_to)) if forward_to else ""
    return _USUAL.format(zone=zone.strip("."), port=port, forward=forward)
