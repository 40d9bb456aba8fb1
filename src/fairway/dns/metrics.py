"""What is counted, and how Prometheus reads it; names as CoreDNS has them, so that dashboards keep working.

Counting is cheap enough for every question. Serving the page is the `prometheus` plugin's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_TYPES = {
    1: "A",
    2: "NS",
    5: "CNAME",
    6: "SOA",
    12: "PTR",
    15: "MX",
    16: "TXT",
    28: "AAAA",
    33: "SRV",
    255: "ANY",
}
_RCODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED", 16: "BADVERS"}


@dataclass
class Metrics:
    """Counters since the start. Answers of the cluster's zone are counted in plain lists, as each
    nanosecond counts: by the low octet of the type, and by rcode."""

    zone_udp: list[int] = field(default_factory=lambda: [0] * 256)
    zone_tcp: list[int] = field(default_factory=lambda: [0] * 256)
    zone_rcodes: list[int] = field(default_factory=lambda: [0] * 16)
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    responses: Counter[int] = field(default_factory=Counter)
    cache_hits: int = 0
    cache_misses: int = 0
    forwarded: Counter[str] = field(default_factory=Counter)
    panics: int = 0
    snapshot_written: float = 0.0
    """When the state of the cluster that is served was written down, if it is not the present one."""

    def count_zone(self, query: bytes, answer: bytes, tcp: bool = False) -> None:
        """One answer of the cluster's zone. The type stands behind the name, which the answer has, too."""
        at = query.index(0, 12)
        (self.zone_tcp if tcp else self.zone_udp)[query[at + 2]] += 1
        self.zone_rcodes[answer[3] & 15] += 1

    def count_repeat(self, query: bytes, answer: bytes) -> None:
        """One answer out of the cache that was repeated as it was."""
        at = query.index(0, 12)
        self.requests["udp", query[at + 1] << 8 | query[at + 2]] += 1
        self.responses[answer[3] & 15] += 1
        self.cache_hits += 1

    def text(self) -> str:
        """The exposition format of Prometheus, version 0.0.4."""
        requests, responses = self.requests.copy(), self.responses.copy()
        for proto, kinds in (("udp", self.zone_udp), ("tcp", self.zone_tcp)):
            requests.update({(proto, kind): count for kind, count in enumerate(kinds) if count})
        responses.update({rcode: count for rcode, count in enumerate(self.zone_rcodes) if count})
        lines = _family("coredns_dns_requests_total", "Counter of DNS requests made per protocol and type.")
        for (proto, kind), count in sorted(requests.items()):
            name = _TYPES.get(kind, "other")
            lines.append(f'coredns_dns_requests_total{{proto="{proto}",type="{name}"}} {count}')
        lines += _family("coredns_dns_responses_total", "Counter of response status codes.")
        for rcode, count in sorted(responses.items()):
            lines.append(f'coredns_dns_responses_total{{rcode="{_RCODES.get(rcode, rcode)}"}} {count}')
        lines += _family("coredns_forward_requests_total", "Counter of requests made per upstream.")
        for to, count in sorted(self.forwarded.items()):
            lines.append(f'coredns_forward_requests_total{{to="{to}"}} {count}')
        for name, about, value in (
            ("coredns_cache_hits_total", "The count of cache hits.", self.cache_hits),
            ("coredns_cache_misses_total", "The count of cache misses.", self.cache_misses),
            ("coredns_panics_total", "The number of failures while answering.", self.panics),
        ):
            lines += [*_family(name, about), f"{name} {value}"]
        for name, about, level in (
            ("fairway_dns_snapshot_in_use", "1 while an earlier state is served.", self.snapshot_written > 0),
            (
                "fairway_dns_snapshot_written_seconds",
                "When that state was written.",
                int(self.snapshot_written),
            ),
        ):
            lines += [*_family(name, about, "gauge"), f"{name} {int(level)}"]
        return "\n".join(lines) + "\n"


def _family(name: str, about: str, kind: str = "counter") -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
