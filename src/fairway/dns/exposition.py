"""The metrics page, with CoreDNS's names and labels, so that dashboards keep working. What CoreDNS has no
name for begins with `fairway_dns`. Pure.
"""

from __future__ import annotations

import ipaddress
import platform
from collections import Counter
from collections.abc import Iterator

from fairway import __version__
from fairway.dns.metrics import Client, Metrics, Where
from fairway.dns.rdata import rcode_text
from fairway.metrics import Figure, Labels, exposition

_TYPES = {
    1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA", 33: "SRV",
    43: "DS", 46: "RRSIG", 48: "DNSKEY", 255: "ANY", 251: "IXFR", 252: "AXFR", 64: "SVCB", 65: "HTTPS",
}  # fmt: skip
_SHOWN_CLIENTS = 100


def text(metrics: Metrics) -> str:
    return exposition(_figures(metrics))


def _figures(metrics: Metrics) -> Iterator[Figure]:
    build = (
        ("version", f"fairway-{__version__}"),
        ("revision", ""),
        ("goversion", f"python{platform.python_version()}"),
    )
    yield Figure("coredns_build_info", 1, build, help="A metric with a constant '1' value.")
    yield from _questions(metrics)
    yield from _cache(metrics)
    yield from _forward(metrics)
    yield from _clients(metrics)
    yield from _state(metrics)


def _count(name: str, about: str, count: int, *labels: tuple[str, str]) -> Figure:
    return Figure(name, count, labels, "counter", about)


def _place(where: Where) -> Labels:
    return ("server", where[0]), ("zone", where[1]), ("view", "")


def _questions(metrics: Metrics) -> Iterator[Figure]:
    requests, responses = _with_lanes(metrics)
    name, about = "coredns_dns_requests_total", "Counter of DNS requests made per zone, protocol, type."
    for (where, proto, family, kind), count in sorted(requests.items()):
        more = ("proto", proto), ("family", str(family)), ("type", kind)
        yield _count(name, about, count, *_place(where), *more)
    name, about = "coredns_dns_responses_total", "Counter of response status codes."
    for (where, rcode, plugin), count in sorted(responses.items()):
        yield _count(name, about, count, *_place(where), ("rcode", rcode_text(rcode)), ("plugin", plugin))
    name = "coredns_dns_request_duration_seconds"
    about = "Histogram of the time (in seconds) each request took per zone."
    for where, histogram in sorted(metrics.durations.items(), key=lambda item: item[0]):
        yield from histogram.figures(name, about, _place(where))


def _with_lanes(
    metrics: Metrics,
) -> tuple[Counter[tuple[Where, str, int, str]], Counter[tuple[Where, int, str]]]:
    """Requests and responses of both ways of answering."""
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
    return requests, responses


def _cache(metrics: Metrics) -> Iterator[Figure]:
    requests: Counter[str] = Counter(metrics.cache_misses)
    for (zones, kind), count in sorted(metrics.cache_hits.items()):
        requests[zones] += count
        labels = ("type", kind), ("zones", zones), ("view", "")
        yield _count("coredns_cache_hits_total", "The count of cache hits.", count, *labels)
    for name, about, counts in (
        ("coredns_cache_misses_total", "The count of cache misses.", metrics.cache_misses),
        ("coredns_cache_requests_total", "The count of cache requests.", requests),
    ):
        for zones, count in sorted(counts.items()):
            yield _count(name, about, count, ("zones", zones), ("view", ""))


def _forward(metrics: Metrics) -> Iterator[Figure]:
    ours = ("proxy_name", "forward")
    about = "Histogram of the time each request to an upstream took."
    for (to, rcode), histogram in sorted(metrics.forwarded.items(), key=lambda item: item[0]):
        labels = ours, ("to", to), ("rcode", rcode)
        yield from histogram.figures("coredns_proxy_request_duration_seconds", about, labels)
    name, about = "coredns_proxy_healthcheck_failures_total", "Counter of the number of failed healthchecks."
    for to, count in sorted(metrics.healthcheck_failures.items()):
        yield _count(name, about, count, ours, ("to", to))
    about = "Counter of queries rejected because there were too many at once."
    yield _count("coredns_forward_max_concurrent_rejects_total", about, metrics.concurrent_rejects)


def _clients(metrics: Metrics) -> Iterator[Figure]:
    """Those whose search paths cost most. Questions divided by (questions minus denied) is their factor."""
    for client, denied in metrics.denied.most_common(_SHOWN_CLIENTS):
        label, asked = ("client", _address(client)), metrics.asked[client]
        yield _count("fairway_dns_client_questions_total", "Questions of a client.", asked, label)
        about = "Those for names the cluster does not have."
        yield _count("fairway_dns_client_denied_total", about, denied, label)


def _address(client: Client) -> str:
    return str(ipaddress.ip_address(client[0]))


def _state(metrics: Metrics) -> Iterator[Figure]:
    about = "A metric that indicates whether a plugin is enabled."
    for where, plugin in sorted(metrics.plugins):
        yield Figure("coredns_plugin_enabled", 1, (*_place(where), ("name", plugin)), help=about)
    yield _count("coredns_panics_total", "The number of failures while answering.", metrics.panics)
    yield _count("coredns_reload_failed_total", "Counter of failed reloads.", metrics.reload_failures)
    written, about = metrics.snapshot_written, "1 while an earlier state of the cluster is served."
    yield Figure("fairway_dns_snapshot_in_use", int(written > 0), help=about)
    yield Figure("fairway_dns_snapshot_written_seconds", int(written), help="When that state was written.")
