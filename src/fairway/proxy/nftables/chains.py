"""Chains that choose an endpoint: one for each way of choosing among a given number of them.

Services that are reached alike and have equally many endpoints share a chain; the elements they own in the
maps tell them apart. So there are as many chains as distinct endpoint counts, however many Services.
"""

from __future__ import annotations

import enum
from functools import lru_cache

import msgspec

from fairway.proxy.model import Family, Protocol
from fairway.proxy.nftables.ruleset import address_key, client_key, frontend_key
from fairway.proxy.settings import LocalDetection, Settings, in_family

# Where the second pool of a frontend begins: the one for clients inside the cluster.
INTERNAL_OFFSET = 32768
# The counter of round robin belongs to a rule. Services are spread over this many, so that two of them
# rarely share one, while the number of chains still has a bound.
SEATS = 1024


class Reach(enum.StrEnum):
    """Through which kind of address a connection came: that decides who is masqueraded."""

    CLUSTER = "cluster"
    EXTERNAL = "external"
    LOCAL = "local"
    INTERNAL = "internal"
    __hash__ = str.__hash__


class Choice(msgspec.Struct, frozen=True, gc=False):
    """A chain that chooses among `count` endpoints. `seat` is -1 for a random choice."""

    reach: Reach
    protocol: Protocol
    count: int
    node_port: bool = False
    sticky_seconds: int = 0
    seat: int = -1

    @property
    def name(self) -> str:
        parts = ["nodeport"] if self.node_port else []
        parts += [self.reach, self.protocol, str(self.count)]
        parts += ["sticky", str(self.sticky_seconds)] if self.sticky_seconds else []
        parts += ["seat", str(self.seat)] if self.seat >= 0 else []
        return "-".join(parts)

    def rules(self, family: Family, settings: Settings) -> tuple[str, ...]:
        before = self._before(family, settings)
        if self.count == 0:
            return (*before, "drop")
        return (*before, *(self._sticky(family) if self.sticky_seconds else self._plain(family)))

    def _before(self, family: Family, settings: Settings) -> tuple[str, ...]:
        """Masquerading, and the way that clients inside the cluster take around policy Local."""
        match self.reach:
            case Reach.CLUSTER:
                return _masquerade_strangers(family, settings)
            case Reach.EXTERNAL:
                return ("jump mark-masquerade",)
            case Reach.LOCAL:
                return self._short_circuit(family, settings)
            case Reach.INTERNAL:
                return ()

    def _short_circuit(self, family: Family, settings: Settings) -> tuple[str, ...]:
        internal = f"{frontend_key(family, self.node_port)} vmap @internal"
        pods = tuple(f"{match} {internal}" for match in _pods(family, settings))
        return (*pods, "fib saddr type local jump mark-masquerade", f"fib saddr type local {internal}")

    def _plain(self, family: Family) -> tuple[str, ...]:
        key = f"{address_key(family, self.node_port)} . {self.protocol} dport"
        return (f"dnat {family} to {key} . {self._number()} map @{self.protocol}-endpoints",)

    def _sticky(self, family: Family) -> tuple[str, ...]:
        """A known client goes back to its endpoint as long as that is there; otherwise it gets a new one.

        An element that exists is never overwritten by packets, only refreshed: hence the deletion.
        """
        frontend = frontend_key(family, self.node_port)
        client = client_key(family, self.node_port)
        remember = f"@affinity {{ {client} timeout {self.sticky_seconds}s : meta priority }}"
        target = f"{address_key(family, self.node_port)} . {self.protocol} dport . meta priority"
        dnat = f"dnat {family} to {target} map @{self.protocol}-sticky"
        return (
            f"meta priority set {client} map @affinity update {remember}",
            dnat,
            f"delete @affinity {{ {client} : meta priority }}",
            f"meta priority set {frontend} . {self._number()} map @sticky-slots add {remember}",
            dnat,
        )

    def _number(self) -> str:
        mode = "inc" if self.seat >= 0 else "random"
        offset = f" offset {INTERNAL_OFFSET}" if self.reach is Reach.INTERNAL else ""
        return f"numgen {mode} mod {self.count}{offset}"


@lru_cache(maxsize=4096)
def choice(
    reach: Reach, protocol: Protocol, count: int, node_port: bool, sticky_seconds: int, seat: int
) -> tuple[Choice, str]:
    """A choice and the verdict that leads to it; most Services share a few."""
    made = Choice(reach, protocol, count, node_port, sticky_seconds, seat)
    return made, f"goto {made.name}"


def _masquerade_strangers(family: Family, settings: Settings) -> tuple[str, ...]:
    """Replies to clients outside the cluster must come back through this node, which did the translation."""
    if settings.masquerade_all:
        return ("jump mark-masquerade",)
    return tuple(f"{match} jump mark-masquerade" for match in _pods(family, settings, "!= "))


def _pods(family: Family, settings: Settings, negation: str = "") -> tuple[str, ...]:
    """The match for traffic of Pods; none if there is no way to tell them from strangers."""
    match settings.detection:
        case LocalDetection.BRIDGE_INTERFACE:
            return (f'iifname {negation}"{settings.pod_interface}"',)
        case LocalDetection.INTERFACE_NAME_PREFIX:
            return (f'iifname {negation}"{settings.pod_interface}*"',)
        case _:
            cidrs = in_family(settings.cluster_cidrs, family)
            return (f"{family} saddr {negation}{_anonymous(cidrs)}",) if cidrs else ()


def _anonymous(ranges: tuple[str, ...]) -> str:
    return ranges[0] if len(ranges) == 1 else f"{{ {', '.join(ranges)} }}"
