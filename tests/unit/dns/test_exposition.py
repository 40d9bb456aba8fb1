"""The metrics page."""

from __future__ import annotations

from fairway.dns.exposition import text
from fairway.dns.metrics import MOST_CLIENTS, Metrics, server_label

WHERE = ("dns://:53", ".")
LABELS = 'server="dns://:53",zone=".",view=""'


def test_all_ways_of_answering_are_counted_together_under_coredns_names() -> None:
    metrics = Metrics()
    metrics.lane(WHERE, 1).udp[1] = 3
    metrics.lane(WHERE, 1).rcodes[0] = 3
    metrics.requests[WHERE, "udp", 1, 1] += 2
    metrics.requests[WHERE, "tcp", 2, 99] += 1
    metrics.responses[WHERE, 0, "kubernetes"] += 2
    metrics.responses[WHERE, 3, "forward"] += 1
    metrics.took(WHERE, 0.003)
    lines = text(metrics).splitlines()
    for line in (
        f'coredns_dns_requests_total{{{LABELS},proto="udp",family="1",type="A"}} 5',
        f'coredns_dns_requests_total{{{LABELS},proto="tcp",family="2",type="other"}} 1',
        f'coredns_dns_responses_total{{{LABELS},rcode="NOERROR",plugin="kubernetes"}} 5',
        f'coredns_dns_responses_total{{{LABELS},rcode="NXDOMAIN",plugin="forward"}} 1',
        f'coredns_dns_request_duration_seconds_bucket{{{LABELS},le="0.002"}} 0',
        f'coredns_dns_request_duration_seconds_bucket{{{LABELS},le="0.004"}} 1',
        f"coredns_dns_request_duration_seconds_count{{{LABELS}}} 1",
    ):
        assert line in lines


def test_clients_whose_search_paths_cost_most_are_shown() -> None:
    metrics = Metrics()
    searching, thrifty = (bytes((10, 244, 0, 5)),), (bytes((10, 244, 0, 6)),)
    metrics.count_clients([*[searching] * 5, thrifty])
    metrics.denied[searching] += 4
    page = text(metrics)
    assert 'fairway_dns_client_questions_total{client="10.244.0.5"} 5' in page
    assert 'fairway_dns_client_denied_total{client="10.244.0.5"} 4' in page
    assert "10.244.0.6" not in page


def test_made_up_addresses_do_not_fill_the_memory() -> None:
    metrics = Metrics()
    metrics.count_clients([(b"real",), (b"real",)])
    for number in range(MOST_CLIENTS):
        client = (number.to_bytes(4, "big"),)
        metrics.count_clients([client])
        metrics.denied[client] += 1
    assert len(metrics.asked) < MOST_CLIENTS
    assert len(metrics.denied) < MOST_CLIENTS
    assert metrics.asked[b"real",] == 2


def test_servers_are_written_as_coredns_does() -> None:
    assert server_label("0.0.0.0", 53) == "dns://:53"
    assert server_label("127.0.0.1", 1053) == "dns://127.0.0.1:1053"
    assert server_label("::1", 53) == "dns://[::1]:53"
