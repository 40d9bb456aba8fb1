"""The metrics page: the exposition format of Prometheus 0.0.4, with CoreDNS's names and labels, so that
dashboards keep working. What CoreDNS has no name for begins with `fairway_dns`. Pure.
"""

from __future__ import annotations

import ipaddress
import platform
from collections import Counter
from collections.abc import Iterable

from fairway import __version__
from fairway.dns.metrics import DURATIONS, Client, Histogram, Metrics, Where
from fairway.dns.rdata import rcode_text

_TYPES = {
    1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA", 33: "SRV",
    43: "DS", 46: "RRSIG", 48: "DNSKEY", 255: "ANY", 251: "IXFR", 252: "AXFR", 64: "SVCB", 65: "HTTPS",
}  # fmt: skip
_SHOWN_CLIENTS = 100


def text(metrics: Metrics) -> str:
    lines = [
        *_family("coredns_build_info", "A metric with a constant '1' value.", "gauge"),
        f'coredns_build_info{{version="fairway-{__version__}",revision="",goversion="python'
        f'{platform.python_version()}"}} 1',
        *_questions(metrics),
        *_durations(metrics),
        *_cache(metrics),
        *_forward(metrics),
        *_clients(metrics),
        *_state(metrics),
    ]
    return "\n".join(lines) + "\n"


def _family(name: str, about: str, kind: str = "counter") -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _labels(where: Where) -> str:
    return f'server="{where[0]}",zone="{where[1]}",view=""'


def _questions(metrics: Metrics) -> Iterable[str]:
    requests: Counter[tuple[Where, str, int, str]] = Counter()
    responses = Counter(metrics.responses)
    for (where, proto, family, kind), count in metrics.requests.items():
        requests[where, proto, family, _TYPES.get(kind, "other")] += count
    for (where, family), lane in metrics.lanes.items():
        for proto, kinds in (("udp", lane.udp), ("tcp", lane.tcp)):
            for kind, count in enumerate(kinds):
                if count:
                    requests[where, proto, family, _TYPES.get(kind, "other")] += count
        for rcode, count in enumerate(lane.rcodes):
            if count:
                responses[where, rcode, "kubernetes"] += count
    yield from _family("coredns_dns_requests_total", "Counter of DNS requests made per zone, protocol, type.")
    for (where, proto, family, kind_text), count in sorted(requests.items()):
        rest = f'proto="{proto}",family="{family}",type="{kind_text}"'
        yield f"coredns_dns_requests_total{{{_labels(where)},{rest}}} {count}"
    yield from _family("coredns_dns_responses_total", "Counter of response status codes.")
    for (where, rcode, plugin), count in sorted(responses.items()):
        rest = f'rcode="{rcode_text(rcode)}",plugin="{plugin}"'
        yield f"coredns_dns_responses_total{{{_labels(where)},{rest}}} {count}"


def _durations(metrics: Metrics) -> Iterable[str]:
    name = "coredns_dns_request_duration_seconds"
    yield from _family(name, "Histogram of the time (in seconds) each request took per zone.", "histogram")
    for where, histogram in sorted(metrics.durations.items()):
        yield from _histogram(name, _labels(where), histogram)


def _histogram(name: str, labels: str, histogram: Histogram) -> Iterable[str]:
    seen = 0
    for bound, count in zip((*DURATIONS, "+Inf"), histogram.counts, strict=True):
        seen += count
        yield f'{name}_bucket{{{labels},le="{bound}"}} {seen}'
    yield f"{name}_sum{{{labels}}} {histogram.total:.9f}"
    yield f"{name}_count{{{labels}}} {seen}"


def _cache(metrics: Metrics) -> Iterable[str]:
    yield from _family("coredns_cache_hits_total", "The count of cache hits.")
    for (zones, kind), count in sorted(metrics.cache_hits.items()):
        yield f'coredns_cache_hits_total{{type="{kind}",zones="{zones}",view=""}} {count}'
    yield from _family("coredns_cache_misses_total", "The count of cache misses.")
    for zones, count in sorted(metrics.cache_misses.items()):
        yield f'coredns_cache_misses_total{{zones="{zones}",view=""}} {count}'
    requests: Counter[str] = Counter(metrics.cache_misses)
    for (zones, _), count in metrics.cache_hits.items():
        requests[zones] += count
    yield from _family("coredns_cache_requests_total", "The count of cache requests.")
    for zones, count in sorted(requests.items()):
        yield f'coredns_cache_requests_total{{zones="{zones}",view=""}} {count}'


def _forward(metrics: Metrics) -> Iterable[str]:
    name = "coredns_proxy_request_duration_seconds"
    yield from _family(name, "Histogram of the time each request to an upstream took.", "histogram")
    for (to, rcode), histogram in sorted(metrics.forwarded.items()):
        yield from _histogram(name, f'proxy_name="forward",to="{to}",rcode="{rcode}"', histogram)
    name = "coredns_proxy_healthcheck_failures_total"
    yield from _family(name, "Counter of the number of failed healthchecks.")
    for to, count in sorted(metrics.healthcheck_failures.items()):
        yield f'{name}{{proxy_name="forward",to="{to}"}} {count}'
    name = "coredns_forward_max_concurrent_rejects_total"
    yield from _family(name, "Counter of queries rejected because there were too many at once.")
    yield f"{name} {metrics.concurrent_rejects}"


def _clients(metrics: Metrics) -> Iterable[str]:
    """Those whose search paths cost most. Questions divided by (questions minus denied) is their factor."""
    shown = sorted(metrics.denied, key=metrics.denied.__getitem__, reverse=True)[:_SHOWN_CLIENTS]
    for name, about, counts in (
        ("fairway_dns_client_questions_total", "Questions of a client.", metrics.asked),
        ("fairway_dns_client_denied_total", "Those for names the cluster does not have.", metrics.denied),
    ):
        yield from _family(name, about)
        for client in shown:
            yield f'{name}{{client="{_address(client)}"}} {counts.get(client, 0)}'


def _address(client: Client) -> str:
    return str(ipaddress.ip_address(client[0]))


def _state(metrics: Metrics) -> Iterable[str]:
    yield from _family(
        "coredns_plugin_enabled", "A metric that indicates whether a plugin is enabled.", "gauge"
    )
    for where, plugin in sorted(metrics.plugins):
        yield f'coredns_plugin_enabled{{{_labels(where)},name="{plugin}"}} 1'
    for name, about, kind, value in (
        ("coredns_panics_total", "The number of failures while answering.", "counter", metrics.panics),
        ("coredns_reload_failed_total", "Counter of failed reloads.", "counter", metrics.reload_failures),
        (
            "fairway_dns_snapshot_in_use",
            "1 while an earlier state of the cluster is served.",
            "gauge",
            int(metrics.snapshot_written > 0),
        ),
        (
            "fairway_dns_snapshot_written_seconds",
            "When that state was written.",
            "gauge",
            int(metrics.snapshot_written),
        ),
    ):
        yield from (*_family(name, about, kind), f"{name} {value}")
