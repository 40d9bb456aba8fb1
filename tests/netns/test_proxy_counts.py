"""Connections and bytes by Service, counted in every mode that this kernel has, with real packets.

The ipvs mode is checked in user-mode Linux (`tests/uml/checks_counting.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from fairway.kernel import namespaces
from fairway.proxy.service_figures import ServiceCounting
from tests.behaviour.expectations import Kind, destination
from tests.behaviour.places import OUTSIDE
from tests.behaviour.services import SERVICES, Behind

from .behaviour.fleet import Fleet, NodeProxy, fleet
from .behaviour.packets import ask
from .behaviour.world import World, world

PATIENCE, SILENCE = 20.0, 1.2
MODES = ("nftables", "iptables", "userspace")


@dataclass
class Counted:
    """One mode on all nodes. All is counted on node-1 unless it is said otherwise."""

    mode: str
    built: World
    proxies: Fleet

    def proxy(self, node: str = "node-1") -> NodeProxy:
        return next(proxy for proxy in self.proxies.proxies if proxy.node == node)

    def figures(self, what: str, node: str = "node-1", **labels: str) -> dict[str, float]:
        """By Service; those that have the labels."""
        proxy = self.proxy(node)
        assert isinstance(proxy.mode, ServiceCounting)
        found: dict[str, float] = {}
        for figure in proxy.run(proxy.mode.count_services)():
            told = dict(figure.labels)
            if figure.name == f"fairway_proxy_service_{what}_total" and labels.items() <= told.items():
                found[told["service"]] = found.get(told["service"], 0) + figure.value
        return found

    def connections(self, service: str, node: str = "node-1", protocol: str = "TCP") -> float:
        return self.figures("connections", node, protocol=protocol).get(service, 0)

    def connect(
        self, client: str, service: str, to: str, times: int = 1, family: int = 4, protocol: str = "tcp"
    ) -> list[Kind]:
        address, port = destination(service, to, family)
        source = OUTSIDE[client].of(family) if client in OUTSIDE else ""
        patience = PATIENCE if service != "guarded" else SILENCE
        return namespaces.run_inside(
            self.built.clients[client].path,
            lambda: [ask(protocol, address, port, source, patience).kind for _ in range(times)],
        )


@pytest.fixture(scope="module")
def built() -> Iterator[World]:
    with world() as made:
        yield made


@pytest.fixture(scope="module", params=MODES)
def counted(request: pytest.FixtureRequest, built: World) -> Iterator[Counted]:
    with fleet(built, request.param) as proxies:
        proxies.put(*SERVICES.values())
        yield Counted(request.param, built, proxies)


def test_every_connection_is_counted_once_by_whatever_address_it_comes(counted: Counted) -> None:
    ways = [
        ("1c", "cluster", 3, 4),
        ("1c", "cluster", 2, 6),
        ("node-1", "cluster", 1, 4),
        ("outside", "node-port@node-1", 4, 4),
        ("outside", "external@node-1", 2, 6),
        ("outside", "balancer@node-1", 1, 4),
    ]
    before = counted.connections("everywhere"), counted.connections("everywhere", "node-2")
    for client, to, times, family in ways:
        assert set(counted.connect(client, "everywhere", to, times, family)) == {Kind.REACHED}
    after = counted.connections("everywhere"), counted.connections("everywhere", "node-2")
    assert (after[0] - before[0], after[1] - before[1]) == (13, 0)
    counted.connect("2c", "everywhere", "cluster")
    assert counted.connections("everywhere", "node-2") == before[1] + 1


def test_the_datagrams_of_a_client_are_one_connection(counted: Counted) -> None:
    before = counted.connections("two-ports", protocol="UDP")
    assert counted.connect("1c", "two-ports", "cluster", 3, protocol="udp") == [Kind.REACHED] * 3
    assert counted.connections("two-ports", protocol="UDP") == before + 3, "each time from another port"
    address, port = destination("two-ports", "cluster", 4)
    with counted.built.clients["1c"].run(lambda: counted.built.clients["1c"].socket(kind=2)) as sending:
        sending.settimeout(PATIENCE)
        for _ in range(5):
            sending.sendto(b"?", (address, port))
            assert sending.recv(100)
    assert counted.connections("two-ports", protocol="UDP") == before + 4


def test_what_is_refused_or_dropped_is_no_connection(counted: Counted) -> None:
    before = counted.connections("guarded")
    assert counted.connect("1c", "empty", "cluster", 2) == [Kind.REFUSED] * 2
    assert counted.connect("outside", "empty", "node-port@node-1") == [Kind.REFUSED]
    assert counted.connections("empty") == 0
    assert counted.connect("stranger", "guarded", "balancer@node-1") == [Kind.DROPPED]
    assert counted.connections("guarded") == before
    assert counted.connect("outside", "guarded", "balancer@node-1") == [Kind.REACHED]
    assert counted.connections("guarded") == before + 1


def test_policy_local_without_an_endpoint_here_counts_nobody_who_is_dropped(counted: Counted) -> None:
    address, port = destination("outside-local", "node-port@node-3", 4)
    outside = counted.built.clients["outside"].path
    dropped = namespaces.run_inside(outside, lambda: ask("tcp", address, port, "", SILENCE))
    assert dropped.kind is Kind.DROPPED
    assert counted.connections("outside-local", "node-3") == 0
    before = counted.connections("outside-local")
    assert counted.connect("outside", "outside-local", "node-port@node-1", 2) == [Kind.REACHED] * 2
    assert counted.connections("outside-local") == before + 2


def test_counters_go_on_when_a_service_is_programmed_anew(counted: Counted) -> None:
    given = SERVICES["remote"]
    before = counted.connections("remote")
    for number, pods in enumerate([("2a",), ("1a", "2a"), ("2a", "3a", "1a"), ("2a",)], 1):
        counted.proxies.put(replace(given, endpoints=tuple(Behind(pod) for pod in pods)))
        assert counted.connect("1c", "remote", "cluster", 2) == [Kind.REACHED] * 2
        if counted.mode == "nftables" and number < 4:
            continue  # what isn't asked for meanwhile isn't lost there
        assert counted.connections("remote") == before + 2 * number
    counted.proxies.put(replace(given, endpoints=()))
    assert counted.connect("1c", "remote", "cluster") == [Kind.REFUSED]
    counted.proxies.put(given)
    assert counted.connections("remote") == before + 8
    counted.connect("1c", "remote", "cluster")
    assert counted.connections("remote") == before + 9


def test_counters_go_on_when_someone_else_has_flushed_everything(counted: Counted) -> None:
    counted.connect("1c", "alone", "cluster", 2)
    before = counted.connections("alone")
    assert before >= 2
    counted.built.nodes["node-1"].namespace.command("nft", "flush", "ruleset")
    assert counted.connections("alone") == before
    counted.proxy().synchronise()
    counted.connect("1c", "alone", "cluster", 1)
    assert counted.connections("alone") == before + 1


def test_bytes_are_counted_by_the_relay_and_nowhere_else_here(counted: Counted) -> None:
    size = {way: counted.figures("bytes", direction=way).get("moved-port", 0) for way in ("in", "out")}
    counted.connect("1c", "moved-port", "cluster", 2)
    counted.connect("1c", "moved-port", "cluster", 1, protocol="udp")
    after = {way: counted.figures("bytes", direction=way) for way in ("in", "out")}
    if counted.mode != "userspace":
        assert after == {"in": {}, "out": {}}
        return
    assert after["in"]["moved-port"] == size["in"] + 1, "one datagram says a question mark"
    # Each says its own name and the address of whom it sees.
    assert after["out"]["moved-port"] - size["out"] in range(3 * len("1a 10.244.1.1"), 3 * 40)


def test_a_service_that_is_deleted_is_no_longer_told(counted: Counted) -> None:
    given = SERVICES["database"]
    counted.connect("1c", "database", "cluster")
    assert counted.connections("database") >= 1
    counted.proxies.delete(given)
    assert "database" not in counted.figures("connections")
    counted.proxies.put(given)
    assert counted.connections("database") == 0
