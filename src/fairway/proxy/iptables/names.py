"""What Service ports and their chains are called.

Chain names may have 28 characters, so they carry a hash: the first 16 letters of
base32(sha256(name + protocol)), for endpoints of base32(sha256(name + protocol + `ip:port`)). People look
chains up by these names: they are the same as kube-proxy's, to the letter.
"""

from __future__ import annotations

import base64
import hashlib
import re

from fairway.proxy.model import Endpoint, ServicePortName
from fairway.proxy.spelling import spell_address

SERVICES, NODEPORTS, EXTERNAL = "KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES"
POSTROUTING, MARK_MASQ, MARK_DROP = "KUBE-POSTROUTING", "KUBE-MARK-MASQ", "KUBE-MARK-DROP"
FORWARD, PROXY_FIREWALL = "KUBE-FORWARD", "KUBE-PROXY-FIREWALL"
CANARY = "KUBE-PROXY-CANARY"
# The kubelet makes the first one, too; where it looks after chains, the second is there.
FIREWALL, KUBELET_CANARY = "KUBE-FIREWALL", "KUBE-KUBELET-CANARY"

# What no API server lets into a name must not reach the text of a rule either.
_UNEXPECTED = re.compile(r"[^A-Za-z0-9.:/_-]")
_OF_A_PORT = re.compile(r"KUBE-(SVC|SVL|EXT|FW|SEP)-[A-Z2-7]{16}")


def is_of_a_port(chain: str) -> bool:
    """Whether a chain belongs to a single Service port, to judge by its name."""
    return _OF_A_PORT.fullmatch(chain) is not None


def port_name(name: ServicePortName, classic: bool = False) -> str:
    """`default/web:http`. In classic style the colon is there without a name after it."""
    colon = ":" if classic or name.port else ""
    return _UNEXPECTED.sub("?", f"{name.namespace}/{name.name}{colon}{name.port}")


def endpoint_text(endpoint: Endpoint) -> str:
    return spell_address(endpoint.ip, endpoint.port)


class Chains:
    """The names of one Service port's chains."""

    __slots__ = ("_hashed", "cluster", "external", "firewall", "local")

    def __init__(self, port: str, protocol: str) -> None:
        self._hashed = hashlib.sha256((port + protocol).encode())
        ending = _letters(self._hashed.digest())
        self.cluster = f"KUBE-SVC-{ending}"
        self.local = f"KUBE-SVL-{ending}"
        self.external = f"KUBE-EXT-{ending}"
        self.firewall = f"KUBE-FW-{ending}"

    def endpoint(self, text: str) -> str:
        hashed = self._hashed.copy()
        hashed.update(text.encode())
        return f"KUBE-SEP-{_letters(hashed.digest())}"


def _letters(digest: bytes) -> str:
    # Ten bytes make sixteen letters.
    return base64.b32encode(digest[:10]).decode()
