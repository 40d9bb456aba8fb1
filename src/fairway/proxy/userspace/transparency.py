"""Connections of ours that backends see as coming from the client itself.

The socket gets an address that isn't the node's. Answers reach it because rules mark them (`ruleset`) and a
route takes what is marked to this node. That needs a backend whose answers come by here: one of this node.
"""

from __future__ import annotations

import socket

_TRANSPARENT_V6 = 75
_ADDRESS_WITHOUT_PORT = 24


def appear_as(opened: socket.socket, client: str) -> None:
    """The kernel chooses the port when it knows the backend."""
    if opened.family == socket.AF_INET6:
        opened.setsockopt(socket.IPPROTO_IPV6, _TRANSPARENT_V6, 1)
    else:
        opened.setsockopt(socket.SOL_IP, socket.IP_TRANSPARENT, 1)
    opened.setsockopt(socket.SOL_IP, _ADDRESS_WITHOUT_PORT, 1)
    opened.bind((client, 0))
