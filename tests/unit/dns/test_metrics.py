"""The metrics page."""

from __future__ import annotations

from fairway.dns.metrics import Metrics


def test_all_ways_of_answering_are_counted_together_under_coredns_names() -> None:
    metrics = Metrics()
    metrics.zone_udp[1] = 3
    metrics.zone_rcodes[0] = 3
    metrics.requests["udp", 1] += 2
    metrics.requests["tcp", 99] += 1
    metrics.responses[0] += 2
    metrics.responses[3] += 1
    lines = metrics.text().splitlines()
    assert 'coredns_dns_requests_total{proto="udp",type="A"} 5' in lines
    assert 'coredns_dns_requests_total{proto="tcp",type="other"} 1' in lines
    assert 'coredns_dns_responses_total{rcode="NOERROR"} 5' in lines
    assert 'coredns_dns_responses_total{rcode="NXDOMAIN"} 1' in lines
