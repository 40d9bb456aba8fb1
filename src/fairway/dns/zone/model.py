"""What the zone knows of one name, and the settings that decide which names there are.

Only frozen values; how they come about is in `service`, how they are found in `zone`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec

from fairway.api.selectors import Selector
from fairway.dns import names

VERSION_TTL = 28800
SCHEMA_VERSION = b"\x051.1.0"
"""The version of the Kubernetes DNS specification that `dns-version` tells, as a character string."""


class Target(msgspec.Struct, frozen=True, gc=False):
    """One SRV record; the target is relative to the zone that is asked."""

    weight: int
    port: int
    name: bytes


class Node(msgspec.Struct, frozen=True, gc=False):
    """The records of one name. A node without any is a name that exists all the same: NODATA, not
    NXDOMAIN."""

    a: tuple[bytes, ...] = ()
    aaaa: tuple[bytes, ...] = ()
    srv: tuple[Target, ...] = ()
    ptr: tuple[bytes, ...] = ()
    txt: bytes = b""
    cname: bytes = b""
    apex: bool = False


EXISTS = Node()
VERSION = Node(txt=SCHEMA_VERSION)


class Names(msgspec.Struct, frozen=True):
    """All that one Service brings into the zone: its names, and which addresses lead back to which of
    them."""

    base: bytes = b""
    """The Service's own name."""
    nodes: Mapping[bytes, Node] = {}
    owned: tuple[bytes, ...] = ()
    """Addresses that lead back to the Service itself."""
    endpoints: tuple[bytes, ...] = ()
    """Addresses of endpoints; which names they have is found out when someone asks."""


NO_NAMES = Names()

PodMode = Literal["disabled", "insecure", "verified"]


@dataclass(frozen=True)
class Settings:
    """What the `kubernetes` directive says about names; who is passed on to (`fallthrough`) is the
    plugin's."""

    zones: tuple[bytes, ...] = (names.from_text("cluster.local."),)
    ttl: int = 5
    pods: PodMode = "disabled"
    endpoint_pod_names: bool = False
    endpoints: bool = True
    empty_services: bool = True
    namespaces: frozenset[str] = frozenset()
    labels: Selector | None = None
    namespace_labels: Selector | None = None
    guarded: bool = False
    """An `acl` stands before the zone: an alias then tells nothing but the addresses it leads to."""

    @cached_property
    def tailored(self) -> bool:
        """Whether a part of the names is left out, or given several times."""
        forward = [zone for zone in self.zones if not is_reverse(zone)]
        chosen = self.namespaces or self.labels or self.namespace_labels
        return bool(chosen) or not self.endpoints or len(forward) > 1

    @cached_property
    def primary(self) -> bytes:
        """The zone that PTR records lead into: the first that is not a reverse one."""
        return next((zone for zone in self.zones if not is_reverse(zone)), names.ROOT)


def is_reverse(zone: bytes) -> bool:
    return names.is_under(zone, names.IN_ADDR) or names.is_under(zone, names.IP6)
