"""The behaviour table: who asks, by which address, and what must come of it. In all proxy modes alike.

Columns: client, address, expectation. Where a mode may do otherwise, a fourth column says what.
What the Services are is said in `services`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .expectations import DROPPED, OTHER, PONG, REFUSED, UNANSWERED, Case, Expected, Row, Seen, reaches
from .places import CLUSTER_CIDRS

NODE = Seen.NODE
ALL = "1a 2a 3a"
NO_DIFFERENCE: Mapping[str, Expected] = {}

Line = tuple[str, str, Expected] | tuple[str, str, Expected, Mapping[str, Expected]]


def about(service: str, *lines: Line, protocols: tuple[str, ...] = ("tcp", "udp", "sctp")) -> Iterator[Row]:
    for line in lines:
        client, to, expected = line[:3]
        yield Row(service, client, to, expected, line[3] if len(line) == 4 else NO_DIFFERENCE, protocols)


ROWS: tuple[Row, ...] = (
    *about(
        "everywhere",
        ("1c", "cluster", reaches(ALL)),
        ("3c", "cluster", reaches(ALL)),
        ("1a", "cluster", reaches(ALL)),
        ("node-1", "cluster", reaches(ALL, NODE)),
        ("node-3", "cluster", reaches(ALL, NODE)),
        ("outside", "cluster", reaches(ALL, NODE)),
        ("outside", "node-port@node-1", reaches(ALL, NODE)),
        ("outside", "node-port@node-2", reaches(ALL, NODE)),
        ("outside", "gateway@node-1", reaches(ALL, NODE)),
        ("1c", "node-port@node-1", reaches(ALL, NODE)),
        ("1c", "node-port@node-2", reaches(ALL, NODE)),
        ("node-1", "node-port@node-1", reaches(ALL, NODE)),
        ("node-1", "node-port@node-3", reaches(ALL, NODE)),
        ("outside", "external@node-1", reaches(ALL, NODE)),
        ("outside", "external@node-3", reaches(ALL, NODE)),
        ("1c", "external", reaches(ALL, NODE)),
        ("node-2", "external", reaches(ALL, NODE)),
        ("outside", "balancer@node-2", reaches(ALL, NODE)),
        ("3c", "balancer", reaches(ALL, NODE)),
        ("node-3", "balancer", reaches(ALL, NODE)),
    ),
    *about(
        "alone",
        ("1a", "cluster", reaches("1a", NODE)),
        ("1a", "node-port@node-1", reaches("1a", NODE)),
        ("1a", "node-port@node-2", reaches("1a", NODE)),
        ("1a", "external", reaches("1a", NODE)),
        ("1a", "balancer", reaches("1a", NODE)),
        ("1b", "cluster", reaches("1a")),
        ("node-1", "cluster", reaches("1a", NODE)),
    ),
    *about(
        "remote",
        ("1c", "cluster", reaches("2a")),
        ("2c", "cluster", reaches("2a")),
        ("outside", "node-port@node-1", reaches("2a", NODE)),
        ("outside", "node-port@node-2", reaches("2a", NODE)),
    ),
    *about(
        "empty",
        ("1c", "cluster", REFUSED),
        ("node-1", "cluster", REFUSED),
        ("outside", "cluster", REFUSED),
        ("1c", "node-port@node-1", REFUSED),
        ("node-1", "node-port@node-1", REFUSED),
        ("outside", "node-port@node-1", REFUSED),
        ("outside", "external@node-2", REFUSED),
        ("1c", "external", REFUSED),
        ("outside", "balancer@node-3", REFUSED),
        # The rules of kube-proxy, which that mode writes, refuse to a node's own processes only cluster IPs.
        ("node-2", "balancer", REFUSED, {"iptables": UNANSWERED}),
    ),
    *about("unready", ("1c", "cluster", REFUSED), ("outside", "node-port@node-2", REFUSED)),
    *about(
        "empty-local",
        ("1c", "cluster", REFUSED),
        ("outside", "node-port@node-1", REFUSED),
        ("outside", "balancer@node-1", REFUSED),
    ),
    *about(
        "inside-local",
        ("1c", "cluster", reaches("1a 1b")),
        ("2c", "cluster", reaches("2a")),
        ("2a", "cluster", reaches("2a", NODE)),
        ("3c", "cluster", DROPPED),
        ("node-1", "cluster", reaches("1a 1b", NODE)),
        ("node-3", "cluster", DROPPED),
        ("outside", "cluster", reaches("1a 1b", NODE)),
        ("outside", "node-port@node-3", reaches("1a 1b 2a", NODE)),
    ),
    *about(
        "outside-local",
        ("outside", "node-port@node-1", reaches("1a 1b")),
        ("outside", "node-port@node-2", reaches("2a")),
        ("outside", "node-port@node-3", DROPPED),
        ("outside", "external@node-1", reaches("1a 1b")),
        ("outside", "external@node-3", DROPPED),
        ("outside", "balancer@node-2", reaches("2a")),
        ("outside", "balancer@node-3", DROPPED),
        # Inside the cluster any endpoint serves, as if the connection had gone out and come back.
        ("3c", "node-port@node-3", reaches("1a 1b 2a")),
        ("node-3", "node-port@node-3", reaches("1a 1b 2a", NODE)),
        # In ipvs mode it is the same node, but by the address that the connection was made with.
        ("node-1", "node-port@node-1", reaches("1a 1b 2a", NODE), {"ipvs": reaches("1a 1b 2a")}),
        ("3c", "external", reaches("1a 1b 2a")),
        ("node-3", "balancer", reaches("1a 1b 2a", NODE)),
        ("node-1", "external", reaches("1a 1b 2a", NODE)),
        # To another node, a node is an outside client like any other.
        ("node-1", "node-port@node-2", reaches("2a")),
        ("node-1", "node-port@node-3", DROPPED),
        ("3c", "cluster", reaches("1a 1b 2a")),
        ("outside", "cluster", reaches("1a 1b 2a", NODE)),
    ),
    *about(
        "local",
        ("1c", "cluster", reaches("1a")),
        ("3c", "cluster", DROPPED),
        ("outside", "node-port@node-2", reaches("2a")),
        ("outside", "node-port@node-3", DROPPED),
        ("3c", "external", reaches("1a 2a")),
    ),
    *about(
        "guarded",
        ("outside", "balancer@node-1", reaches("1a 2a", NODE)),
        ("stranger", "balancer@node-1", DROPPED),
        ("1c", "balancer", reaches("1a 2a", NODE)),
        ("2c", "balancer", DROPPED),
        ("node-1", "balancer", DROPPED),
        ("node-2", "balancer", reaches("1a 2a", NODE)),
        ("stranger", "cluster", reaches("1a 2a", NODE)),
        ("stranger", "node-port@node-1", reaches("1a 2a", NODE)),
        ("stranger", "external@node-1", reaches("1a 2a", NODE)),
    ),
    *about(
        "guarded-local",
        ("outside", "balancer@node-1", reaches("1a")),
        ("outside", "balancer@node-3", DROPPED),
        ("stranger", "balancer@node-1", DROPPED),
    ),
    *about(
        "sticky",
        ("outside", "cluster", reaches("1a 1b 2a", NODE, sticky=True)),
        ("3c", "cluster", reaches("1a 1b 2a", sticky=True)),
        ("node-2", "cluster", reaches("1a 1b 2a", NODE, sticky=True)),
        ("outside", "node-port@node-3", reaches("1a 1b 2a", NODE, sticky=True)),
        ("outside", "external@node-1", reaches("1a 1b 2a", NODE, sticky=True)),
        ("outside", "balancer@node-1", reaches("1a 1b 2a", NODE, sticky=True)),
    ),
    *about(
        "sticky-local",
        ("outside", "node-port@node-1", reaches("1a 1b", sticky=True)),
        ("3c", "node-port@node-3", reaches("1a 1b 2a", sticky=True)),
        ("3c", "external", reaches("1a 1b 2a", sticky=True)),
    ),
    *about(
        "leaving",
        ("1c", "cluster", reaches("1a 2a")),
        ("outside", "node-port@node-3", reaches("1a 2a", NODE)),
    ),
    *about(
        "one-left",
        ("1c", "cluster", reaches("2a")),
        ("outside", "node-port@node-1", reaches("2a", NODE)),
    ),
    *about(
        "leaving-local",
        ("outside", "node-port@node-1", reaches("1a")),
        ("outside", "node-port@node-2", reaches("2a")),
        ("outside", "node-port@node-3", DROPPED),
        ("1c", "cluster", reaches("1a")),
        ("3c", "node-port@node-3", reaches("2a")),
    ),
    *about(
        "same-zone",
        ("1c", "cluster", reaches("1a")),
        ("2c", "cluster", reaches("2a 3a")),
        ("outside", "node-port@node-1", reaches("1a", NODE)),
        ("outside", "external@node-3", reaches("2a 3a", NODE)),
    ),
    *about(
        "same-node",
        ("1c", "cluster", reaches("1a")),
        ("2c", "cluster", reaches("2a")),
        ("node-3", "cluster", reaches("3a", NODE)),
    ),
    *about("half-hinted", ("1c", "cluster", reaches(ALL))),
    *about("far-zone", ("1c", "cluster", reaches("2a 3a"))),
    *about(
        "zone-outside-local",
        ("outside", "node-port@node-1", reaches("1a")),
        ("1c", "cluster", reaches("3a")),
    ),
    *about(
        "two-ports",
        ("1c", "cluster", reaches("1a 2a")),
        ("1c", f"cluster{OTHER}", reaches("1a+other 2a+other")),
        ("outside", "node-port@node-1", reaches("1a 2a", NODE)),
        ("outside", f"node-port@node-1{OTHER}", reaches("1a+other 2a+other", NODE)),
        ("outside", f"external@node-2{OTHER}", reaches("1a+other 2a+other", NODE)),
    ),
    *about("moved-port", ("1c", "cluster", reaches("1a 2a+other"))),
    *about(
        "database",
        ("1c", "cluster", reaches("outside")),
        ("node-2", "cluster", reaches("outside", NODE)),
        ("outside", "cluster", reaches("outside", NODE)),
        ("outside", "node-port@node-2", reaches("outside", NODE)),
    ),
    *about(
        "headless",
        ("1c", "cluster", UNANSWERED),
        ("outside", "node-port@node-1", UNANSWERED),
        ("outside", "external@node-1", UNANSWERED),
    ),
    *about("foreign", ("1c", "cluster", UNANSWERED), ("outside", "node-port@node-1", UNANSWERED)),
    *about(
        "balancer-only",
        ("1c", "balancer", UNANSWERED),
        ("1c", "cluster", reaches("1a")),
        ("outside", "external@node-1", reaches("1a", NODE)),
    ),
)

# Addresses and ports that no Service has. The rules of kube-proxy's chains leave the packet to its fate.
_LEFT_ALONE = {"iptables": UNANSWERED}
NOBODYS: tuple[Row, ...] = tuple(
    about(
        "everywhere",
        ("1c", "cluster:82", REFUSED, _LEFT_ALONE),
        ("outside", "cluster:82", REFUSED, _LEFT_ALONE),
        ("outside", "unused-address", REFUSED, _LEFT_ALONE),
        ("node-1", "unused-address", REFUSED, _LEFT_ALONE),
        ("outside", "unused-node-port@node-1", REFUSED),
        protocols=("tcp", "udp"),
    )
)

# Only iptables can serve node ports on 127.0.0.1, and a process that listens does so there, too.
LOOPBACK = (
    Row(
        "everywhere",
        "node-1",
        "loopback",
        REFUSED,
        {"iptables": reaches(ALL, NODE), "userspace": reaches(ALL, NODE)},
        ("tcp",),
        (4,),
    ),
)

# Whether a virtual IP answers ping (spec 4.7): only where a device holds it.
PING = tuple(
    Row("everywhere", client, "cluster", UNANSWERED, {"ipvs": PONG}, ("icmp",))
    for client in ("1c", "node-1", "outside")
)

# Rows for proxies that are configured otherwise.
SETTINGS: dict[str, dict[str, Any]] = {
    "": {},
    "masquerade all": {"masquerade_all": True},
    "node ports among Pods only": {"nodeport_addresses": CLUSTER_CIDRS},
    "service range unknown": {"service_ranges": ()},
}
CONFIGURED: tuple[Row, ...] = (
    Row("everywhere", "1c", "cluster", reaches(ALL, NODE), setting="masquerade all"),
    Row("inside-local", "2c", "cluster", reaches("2a", NODE), setting="masquerade all"),
    Row("outside-local", "outside", "node-port@node-1", reaches("1a 1b"), setting="masquerade all"),
    Row("everywhere", "outside", "node-port@node-1", REFUSED, setting="node ports among Pods only"),
    Row("everywhere", "outside", "gateway@node-1", reaches(ALL, NODE), setting="node ports among Pods only"),
    Row("everywhere", "1c", "gateway@node-1", reaches(ALL, NODE), setting="node ports among Pods only"),
    Row("empty", "outside", "gateway@node-1", REFUSED, setting="node ports among Pods only"),
    Row("everywhere", "1c", "cluster", reaches(ALL), setting="service range unknown"),
    Row("empty", "1c", "cluster", REFUSED, setting="service range unknown"),
    Row("everywhere", "1c", "cluster:82", REFUSED, _LEFT_ALONE, setting="service range unknown"),
)

TABLE: tuple[Case, ...] = tuple(
    case for row in (*ROWS, *NOBODYS, *LOOPBACK, *PING, *CONFIGURED) for case in row.cases()
)
