"""The IP sets that tell the constant packet filter rules about Services, by kube-proxy's names.

Only names and types; what goes into them is decided in `frontends`, what rules do with them in `rules`. The
sets KUBE-NO-ENDPOINT, KUBE-NO-LOCAL-ENDPOINT and KUBE-INTERNAL are this program's own.
"""

from __future__ import annotations

from typing import NamedTuple

from fairway.proxy.model import Family

LOOP_BACK = "KUBE-LOOP-BACK"
CLUSTER_IP = "KUBE-CLUSTER-IP"
EXTERNAL_IP = "KUBE-EXTERNAL-IP"
EXTERNAL_IP_LOCAL = "KUBE-EXTERNAL-IP-LOCAL"
LOAD_BALANCER = "KUBE-LOAD-BALANCER"
LOAD_BALANCER_LOCAL = "KUBE-LOAD-BALANCER-LOCAL"
LOAD_BALANCER_FIREWALL = "KUBE-LOAD-BALANCER-FW"
SOURCE_RANGE = "KUBE-LOAD-BALANCER-SOURCE-CIDR"
SOURCE_ADDRESS = "KUBE-LOAD-BALANCER-SOURCE-IP"
NODE_PORT = {
    "tcp": "KUBE-NODE-PORT-TCP",
    "udp": "KUBE-NODE-PORT-UDP",
    "sctp": "KUBE-NODE-PORT-SCTP-HASH",
}
NODE_PORT_LOCAL = {
    "tcp": "KUBE-NODE-PORT-LOCAL-TCP",
    "udp": "KUBE-NODE-PORT-LOCAL-UDP",
    "sctp": "KUBE-NODE-PORT-LOCAL-SCTP-HASH",
}
VIRTUAL_IPS = "KUBE-IPVS-IPS"
NO_ENDPOINT = "KUBE-NO-ENDPOINT"
NO_LOCAL_ENDPOINT = "KUBE-NO-LOCAL-ENDPOINT"
INTERNAL = "KUBE-INTERNAL"

_ADDRESS, _FRONTEND, _PORT = "hash:ip", "hash:ip,port", "bitmap:port"
TYPES = {
    LOOP_BACK: "hash:ip,port,ip",
    CLUSTER_IP: _FRONTEND,
    EXTERNAL_IP: _FRONTEND,
    EXTERNAL_IP_LOCAL: _FRONTEND,
    LOAD_BALANCER: _FRONTEND,
    LOAD_BALANCER_LOCAL: _FRONTEND,
    LOAD_BALANCER_FIREWALL: _FRONTEND,
    SOURCE_RANGE: "hash:ip,port,net",
    SOURCE_ADDRESS: "hash:ip,port,ip",
    NODE_PORT["tcp"]: _PORT,
    NODE_PORT["udp"]: _PORT,
    NODE_PORT["sctp"]: _FRONTEND,
    NODE_PORT_LOCAL["tcp"]: _PORT,
    NODE_PORT_LOCAL["udp"]: _PORT,
    NODE_PORT_LOCAL["sctp"]: _FRONTEND,
    VIRTUAL_IPS: _ADDRESS,
    NO_ENDPOINT: _FRONTEND,
    NO_LOCAL_ENDPOINT: _FRONTEND,
    INTERNAL: _FRONTEND,
}
_LONGEST_NAME = 31
# The sets whose entries carry a mark for the packets that match.
MARKED = frozenset({INTERNAL})


class Member(NamedTuple):
    """An entry of a set of one family. Only the fields that the set's type names are filled in."""

    family: Family
    set: str
    address: str = ""
    protocol: str = ""
    port: int = 0
    other: str = ""
    mark: int = 0


def full_name(name: str, family: Family) -> str:
    """The sets of IPv6 are others, by other names; the longest are cut, as kube-proxy cuts them."""
    return name if family is Family.IPV4 else name.replace("KUBE-", "KUBE-6-", 1)[:_LONGEST_NAME]
