"""Totals of what counters say that begin anew now and then."""

from __future__ import annotations

from collections.abc import Set

from fairway.metrics import exposition
from fairway.proxy.model import Family, Protocol, ServicePortName
from fairway.proxy.service_counts import Reading, Totals, Traffic

WEB = ServicePortName("default", "web", "http", Protocol.TCP, Family.IPV4)
WEB6 = ServicePortName("default", "web", "http", Protocol.TCP, Family.IPV6)
DNS = ServicePortName("default", "dns", "", Protocol.UDP, Family.IPV4)


ALL = frozenset({WEB, WEB6, DNS})


def connections(totals: Totals, known: Set[ServicePortName] = ALL) -> dict[str, float]:
    figures = [f for f in totals.figures(known) if f.name == "fairway_proxy_service_connections_total"]
    return {dict(figure.labels)["service"]: figure.value for figure in figures}


def test_what_was_counted_before_is_not_counted_again() -> None:
    totals = Totals()
    totals.observe([Reading("a", WEB, Traffic(3))])
    totals.observe([Reading("a", WEB, Traffic(5))])
    assert connections(totals) == {"web": 5}


def test_a_counter_that_is_lower_than_before_has_begun_anew() -> None:
    totals = Totals()
    totals.observe([Reading("a", WEB, Traffic(7))])
    totals.observe([Reading("a", WEB, Traffic(2))])
    assert connections(totals) == {"web": 9}


def test_a_counter_that_was_forgotten_begins_anew_even_if_it_is_higher_by_now() -> None:
    totals = Totals()
    totals.observe([Reading("a", WEB, Traffic(2))])
    totals.forget(["a"])
    totals.observe([Reading("a", WEB, Traffic(3))])
    assert connections(totals) == {"web": 5}


def test_a_counter_that_is_missing_among_all_is_gone() -> None:
    totals = Totals()
    totals.observe_all([Reading(1, WEB, Traffic(2)), Reading(2, WEB, Traffic(4))])
    totals.observe_all([Reading(2, WEB, Traffic(5))])
    totals.observe_all([Reading(1, WEB, Traffic(3)), Reading(2, WEB, Traffic(5))])
    assert connections(totals) == {"web": 10}


def test_both_families_are_one_service_and_all_its_addresses_add_up() -> None:
    totals = Totals()
    totals.observe([Reading("a", WEB, Traffic(1)), Reading("b", WEB, Traffic(2))])
    totals.observe([Reading("c", WEB6, Traffic(4)), Reading("d", DNS, Traffic(8))])
    assert connections(totals) == {"web": 7, "dns": 8}


def test_a_service_that_is_gone_is_forgotten_and_begins_anew_when_it_comes_back() -> None:
    totals = Totals()
    totals.observe([Reading("a", WEB, Traffic(3)), Reading("d", DNS, Traffic(8))])
    assert connections(totals, {DNS}) == {"dns": 8}
    assert connections(totals) == {"dns": 8}


def test_a_service_that_nobody_has_used_has_no_figures() -> None:
    totals = Totals()
    totals.observe([Reading("a", WEB, Traffic(0))])
    assert connections(totals) == {}


def test_figures_carry_the_names_of_the_service_port_and_bytes_where_they_are_counted() -> None:
    totals = Totals(bytes_too=True)
    totals.observe([Reading("a", WEB, Traffic(1, 20, 3_000_000_000))])
    text = exposition(totals.figures({WEB}))
    labels = 'namespace="default",service="web",port_name="http",protocol="TCP"'
    assert f"fairway_proxy_service_connections_total{{{labels}}} 1\n" in text
    assert f'fairway_proxy_service_bytes_total{{{labels},direction="in"}} 20\n' in text
    assert f'fairway_proxy_service_bytes_total{{{labels},direction="out"}} 3000000000\n' in text
    assert text.count("# TYPE fairway_proxy_service_bytes_total counter") == 1
    without = Totals()
    without.observe([Reading("a", WEB, Traffic(1))])
    assert "bytes" not in exposition(without.figures({WEB}))
