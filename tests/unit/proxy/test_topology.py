"""Which endpoints a node uses."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fairway.proxy.model import Endpoint, ServicePort, service_ports
from fairway.proxy.topology import Place, merge, pools

from .objects import service

HERE = Place("n1", "east")
READY, GONE, ENDING = (True, True, False), (False, False, False), (False, True, True)


def at(
    ip: str, state: tuple[bool, bool, bool] = READY, node: str = "n2", **hints: tuple[str, ...]
) -> Endpoint:
    return Endpoint(ip, 80, node, *state, **hints)


def port(**spec: object) -> ServicePort:
    (found,) = service_ports(service(**spec))  # type: ignore[arg-type]
    return found


def ips(endpoints: Sequence[Endpoint]) -> list[str]:
    return [endpoint.ip for endpoint in endpoints]


def test_only_ready_endpoints_are_used() -> None:
    chosen = pools(port(), [at("a"), at("b", GONE), at("c", ENDING)], HERE)
    assert (ips(chosen.cluster), chosen.any) == (["a"], True)


def test_endpoints_that_end_but_still_serve_are_better_than_none() -> None:
    chosen = pools(port(), [at("b", GONE), at("c", ENDING)], HERE)
    assert (ips(chosen.cluster), chosen.any) == (["c"], True)


def test_nothing_usable_is_nothing() -> None:
    chosen = pools(port(), [at("b", GONE)], HERE)
    assert (chosen.cluster, chosen.any) == ((), False)


LOCAL = {"type": "NodePort", "nodePort": 30061, "externalTrafficPolicy": "Local"}


def test_external_policy_local_has_a_pool_of_its_own_besides_all_endpoints() -> None:
    chosen = pools(port(**LOCAL), [at("a"), at("b", node="n1")], HERE)
    assert (ips(chosen.cluster), ips(chosen.local)) == (["a", "b"], ["b"])


def test_external_policy_means_nothing_without_external_addresses() -> None:
    chosen = pools(port(externalTrafficPolicy="Local"), [at("b", node="n1")], HERE)
    assert (ips(chosen.cluster), chosen.local) == (["b"], ())


def test_internal_policy_local_uses_local_endpoints_alone_and_knows_of_others() -> None:
    chosen = pools(port(internalTrafficPolicy="Local"), [at("a")], HERE)
    assert (chosen.cluster, chosen.local, chosen.any) == ((), (), True)


def test_a_local_endpoint_that_ends_serves_while_no_ready_one_is_local() -> None:
    chosen = pools(port(**LOCAL), [at("a"), at("b", ENDING, "n1")], HERE)
    assert (ips(chosen.cluster), ips(chosen.local)) == (["a"], ["b"])


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ([("east",), ("west",)], ["a"]),
        ([("east", "west"), ("west",)], ["a"]),
        ([("east",), ()], ["a", "b"]),  # half a set is stale
        ([("west",), ("west",)], ["a", "b"]),  # none for us
    ],
)
def test_zone_hints_are_honoured_if_complete(hints: list[tuple[str, ...]], expected: list[str]) -> None:
    first, second = hints
    chosen = pools(port(), [at("a", zone_hints=first), at("b", zone_hints=second)], HERE)
    assert ips(chosen.cluster) == expected


def test_hints_mean_nothing_on_a_node_without_a_zone() -> None:
    endpoints = [at("a", zone_hints=("east",)), at("b", zone_hints=("west",))]
    assert ips(pools(port(), endpoints, Place("n1")).cluster) == ["a", "b"]


def test_hints_of_endpoints_that_are_not_ready_dont_count() -> None:
    endpoints = [at("a", zone_hints=("east",)), at("b", GONE)]
    assert ips(pools(port(), endpoints, HERE).cluster) == ["a"]


def test_node_hints_come_before_zone_hints() -> None:
    near = at("a", zone_hints=("east",), node_hints=("n1",))
    far = at("b", zone_hints=("east",), node_hints=("n2",))
    assert ips(pools(port(), [near, far], HERE).cluster) == ["a"]


def test_an_endpoint_in_two_slices_counts_once_and_by_its_better_state() -> None:
    assert merge([at("a", GONE), at("a"), at("a", ENDING)]) == (at("a"),)
