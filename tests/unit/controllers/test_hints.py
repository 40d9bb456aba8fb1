"""Topology hints: who is meant for which zone or node."""

from __future__ import annotations

from collections import Counter

import pytest

from fairway.api.objects import Endpoint, EndpointConditions, EndpointHints, ForZone, Service
from fairway.controllers.endpointslice.hints import (
    Candidate,
    distributed,
    is_automatic,
    shared_out,
    zone_shares,
)

from .objects import node, service

THREE = {"za": 1 / 3, "zb": 1 / 3, "zc": 1 / 3}


def at(zone: str | None, number: int = 0, *, ready: bool = True, hint: str | None = None) -> Endpoint:
    hints = EndpointHints([ForZone(hint)]) if hint else None
    conditions = EndpointConditions(ready, ready, False)
    return Endpoint([f"10.0.{zone}.{number}"], conditions, node_name=f"n-{zone}", zone=zone, hints=hints)


def by_zone(*endpoints: Endpoint, shares: dict[str, float] | None = None) -> dict[str, int] | None:
    result = shared_out([Candidate(endpoints, None)], THREE if shares is None else shares)
    if result is None:
        return None
    hinted = (z.name for e in result[0] for z in (e.hints.for_zones if e.hints else None) or ())
    return dict(Counter(hinted))


def test_endpoints_stay_in_their_zone_where_shares_are_even() -> None:
    assert by_zone(*(at(z, i) for z in THREE for i in range(2))) == {"za": 2, "zb": 2, "zc": 2}


def test_a_crowded_zone_gives_to_the_others() -> None:
    endpoints = [*(at("za", i) for i in range(4)), at("zb"), at("zc")]
    assert by_zone(*endpoints) == {"za": 2, "zb": 2, "zc": 2}


def test_a_zone_with_most_cpus_gets_most_endpoints() -> None:
    endpoints = [at(z, i) for z in THREE for i in range(4)]
    shares = {"za": 8 / 12, "zb": 2 / 12, "zc": 2 / 12}
    assert by_zone(*endpoints, shares=shares) == {"za": 8, "zb": 2, "zc": 2}


@pytest.mark.parametrize(
    ("about", "endpoints", "shares"),
    [
        ("fewer endpoints than zones", [at("za"), at("zb")], THREE),
        ("no allotment within the threshold", [at(z) for z in "abcde"], {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}),
        ("an endpoint without zone", [at("za"), at("zb"), at(None)], {"za": 0.5, "zb": 0.5}),
        ("one zone only", [at("za"), at("za", 1)], {"za": 1.0}),
    ],
)
def test_without_a_fair_allotment_nobody_gets_hints(
    about: str, endpoints: list[Endpoint], shares: dict[str, float]
) -> None:
    assert by_zone(*endpoints, shares=shares) is None, about


def test_endpoints_that_take_no_traffic_get_no_hint() -> None:
    assert by_zone(at("za"), at("zb"), at("zc"), at("za", 9, ready=False)) == {"za": 1, "zb": 1, "zc": 1}


def test_hints_that_are_still_right_are_left_alone() -> None:
    standing = (at("za", hint="zb"), at("zb", hint="za"), at("zc", hint="zc"))
    assert shared_out([Candidate(standing, standing)], THREE) == [standing]


def test_hints_for_a_zone_that_is_gone_are_made_anew() -> None:
    standing = (at("za", hint="zx"), at("zb", hint="zb"), at("zc", hint="zc"))
    plain = (at("za"), at("zb"), at("zc"))
    (result,) = shared_out([Candidate(plain, standing)], THREE) or []
    assert [e.hints and e.hints.for_zones for e in result] == [[ForZone(z)] for z in ("za", "zb", "zc")]


@pytest.mark.parametrize(
    ("distribution", "zones", "nodes"),
    [
        (None, None, None),
        ("PreferClose", [ForZone("za")], None),
        ("PreferSameZone", [ForZone("za")], None),
        ("PreferSameNode", [ForZone("za")], [ForZone("n-za")]),
    ],
)
def test_traffic_distribution_keeps_an_endpoint_to_its_own_place(
    distribution: str | None, zones: object, nodes: object
) -> None:
    (result,) = distributed((at("za"),), distribution)
    assert (
        (result.hints.for_zones, result.hints.for_nodes) == (zones, nodes) if result.hints else zones is None
    )


def test_unready_endpoints_lose_their_hint() -> None:
    (result,) = distributed((at("za", ready=False, hint="za"),), "PreferSameZone")
    assert result.hints is None


@pytest.mark.parametrize(
    ("annotations", "automatic"),
    [
        ({"service.kubernetes.io/topology-mode": "Auto"}, True),
        ({"service.kubernetes.io/topology-mode": "auto"}, True),
        ({"service.kubernetes.io/topology-aware-hints": "Auto"}, True),
        ({"service.kubernetes.io/topology-mode": "Disabled"}, False),
        ({"service.kubernetes.io/topology-mode": "example.com/x"}, False),
        ({}, False),
    ],
)
def test_the_annotation_turns_automatic_hints_on(annotations: dict[str, str], automatic: bool) -> None:
    given: Service = service(annotations=annotations)
    assert is_automatic(given) is automatic


def test_shares_are_by_cpus_of_ready_workers() -> None:
    control_plane = {"node-role.kubernetes.io/control-plane": ""}
    nodes = [
        node("a", zone="za", cpu="6"),
        node("b", zone="zb", cpu="2000m"),
        node("c", zone="zc", ready="False"),
        node("d", zone="zd", labels=control_plane),
    ]
    assert zone_shares(nodes) == {"za": 0.75, "zb": 0.25}


@pytest.mark.parametrize("odd", [node("b"), node("b", zone="zb", cpu="0")], ids=["no zone", "no CPU"])
def test_a_node_that_tells_too_little_leaves_no_shares(odd: object) -> None:
    assert zone_shares([node("a", zone="za"), odd]) is None  # type: ignore[list-item]
