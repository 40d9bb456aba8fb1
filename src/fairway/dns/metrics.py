"""What is counted. Counting is cheap enough for every question; how it is written is `exposition`'s affair.

Questions are counted by server (address and port), the server block's zone, protocol, family and type, as
CoreDNS does; and by client, to see whose search paths multiply questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from fairway.metrics import Histogram

DURATIONS = (
    0.00025,
    0.0005,
    0.001,
    0.002,
    0.004,
    0.008,
    0.016,
    0.032,
    0.064,
    0.128,
    0.256,
    0.512,
    1,
    2,
    4,
    8,
)
"""Upper bounds of the histograms, in seconds: CoreDNS's."""
MOST_CLIENTS = 10_000

Where = tuple[str, str]
"""Server and zone."""
Client = tuple[bytes]
"""The packed address."""


def server_label(host: str, port: int) -> str:
    """As CoreDNS writes it: all addresses of the machine are written as none."""
    shown = "" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"dns://{shown}:{port}"


@dataclass
class LaneCounts:
    """Prebuilt answers of one server and family, in plain lists, as each nanosecond counts: by the low octet
    of the type, and by rcode."""

    udp: list[int] = field(default_factory=lambda: [0] * 256)
    tcp: list[int] = field(default_factory=lambda: [0] * 256)
    rcodes: list[int] = field(default_factory=lambda: [0] * 16)

    def count(self, query: bytes, answer: bytes, tcp: bool = False) -> None:
        """One answer. The type stands behind the name, which ends with the first zero."""
        (self.tcp if tcp else self.udp)[query[query.index(0, 12) + 2]] += 1
        self.rcodes[answer[3] & 15] += 1


@dataclass
class Metrics:
    """Counters since the start."""

    lanes: dict[tuple[Where, int], LaneCounts] = field(default_factory=dict)
    """By server and zone, and family (1 for IPv4, 2 for IPv6)."""
    requests: Counter[tuple[Where, str, int, int]] = field(default_factory=Counter)
    """By server and zone, protocol, family and type."""
    responses: Counter[tuple[Where, int, str]] = field(default_factory=Counter)
    """By server and zone, rcode and plugin."""
    durations: dict[Where, Histogram] = field(default_factory=dict)
    cache_hits: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By zones and kind: success or denial."""
    cache_misses: Counter[str] = field(default_factory=Counter)
    forwarded: dict[tuple[str, str], Histogram] = field(default_factory=dict)
    """By server and rcode."""
    healthcheck_failures: Counter[str] = field(default_factory=Counter)
    concurrent_rejects: int = 0
    panics: int = 0
    reload_failures: int = 0
    plugins: set[tuple[Where, str]] = field(default_factory=set)
    asked: Counter[Client] = field(default_factory=Counter)
    """Questions by client."""
    denied: Counter[Client] = field(default_factory=Counter)
    """Those of them that were for names that don't exist in the cluster's zone."""
    snapshot_written: float = 0.0
    """When the state of the cluster that is served was written down, if it is not the present one."""

    def lane(self, where: Where, family: int) -> LaneCounts:
        return self.lanes.setdefault((where, family), LaneCounts())

    def took(self, where: Where, seconds: float, times: int = 1) -> None:
        self.durations.setdefault(where, Histogram(DURATIONS)).observe(seconds, times)

    def forwarded_to(self, server: str, rcode: str, seconds: float) -> None:
        self.forwarded.setdefault((server, rcode), Histogram(DURATIONS)).observe(seconds)

    def count_clients(self, clients: Iterable[Client]) -> None:
        """One question of each. Addresses can be made up: when there are too many, those with the fewest
        questions go."""
        self.asked.update(clients)
        if len(self.asked) > MOST_CLIENTS:
            self.asked = Counter(dict(self.asked.most_common(MOST_CLIENTS // 10)))
            self.denied = Counter({client: n for client, n in self.denied.items() if client in self.asked})
