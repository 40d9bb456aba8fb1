"""Ranges of addresses come and go with ServiceCIDR objects, and never while an address of theirs is in "
"use."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairway.api.errors import StatusError
from fairway.api.resources import SERVICE_CIDRS
from fairway.apiserver.allocators.cidrs import FINALIZER, plan_ranges

from .cluster import Cluster, cluster

OUTSIDE = "the provided network does not match the current range"


async def add_range(c: Cluster, name: str, *cidrs: str) -> None:
    await c.create_object(SERVICE_CIDRS, {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}})


def ready(c: Cluster, name: str) -> tuple[str, str]:
    (condition,) = c.range(name)["status"]["conditions"]
    return condition["status"], condition["reason"]


async def test_a_new_range_can_be_used_once_it_is_ready() -> None:
    async with cluster() as c:
        await add_range(c, "extra", "10.50.0.0/28")
        assert OUTSIDE in await c.refusal("a", clusterIP="10.50.0.3")
        await c.keeper.look()
        assert ready(c, "extra") == ("True", "")
        assert c.range("extra")["metadata"]["finalizers"] == [FINALIZER]
        await c.create("a", clusterIP="10.50.0.3")
        assert c.balances()


async def test_a_full_range_is_relieved_by_another() -> None:
    async with cluster("10.96.0.0/30") as c:
        await asyncio.gather(*[c.create(f"s{number}") for number in range(2)])
        assert "range is full" in await c.refusal("a")
        await add_range(c, "more", "10.50.0.0/28")
        await c.keeper.look()
        spec = (await c.create("a"))["spec"]
        assert spec["clusterIP"].startswith("10.50.0.")


async def test_a_range_stays_until_its_last_address_is_free() -> None:
    async with cluster() as c:
        await add_range(c, "extra", "10.50.0.0/28")
        await c.keeper.look()
        await c.create("a", clusterIP="10.50.0.3")
        await c.delete_object(SERVICE_CIDRS, "extra")
        await c.keeper.look()
        assert ready(c, "extra") == ("False", "Terminating")
        assert OUTSIDE in await c.refusal("b", clusterIP="10.50.0.4")
        await c.delete("a")
        await c.keeper.look()
        assert "extra" not in c.entries(SERVICE_CIDRS)


async def test_a_range_inside_another_may_go_at_once() -> None:
    async with cluster() as c:
        await add_range(c, "inner", "10.96.5.0/24")
        await c.keeper.look()
        await c.create("a", clusterIP="10.96.5.3")
        await c.delete_object(SERVICE_CIDRS, "inner")
        await c.keeper.look()
        assert "inner" not in c.entries(SERVICE_CIDRS)


async def test_two_ranges_that_go_together_do_not_vouch_for_each_other() -> None:
    async with cluster() as c:
        for name in ("one", "two"):
            await add_range(c, name, "10.50.0.0/28")
        await c.keeper.look()
        await c.create("a", clusterIP="10.50.0.3")
        for name in ("one", "two"):
            await c.delete_object(SERVICE_CIDRS, name)
        await c.keeper.look()
        assert {"one", "two"} <= c.entries(SERVICE_CIDRS).keys()


async def test_the_clusters_own_range_comes_back_and_serves_meanwhile() -> None:
    async with cluster() as c:
        await c.delete_object(SERVICE_CIDRS, "kubernetes")
        assert "kubernetes" not in c.entries(SERVICE_CIDRS)
        await c.create("a")
        await c.keeper.look()
        assert ready(c, "kubernetes") == ("True", "")
        assert FINALIZER not in (c.range("kubernetes")["metadata"].get("finalizers") or ())
        await c.create("b")
        assert c.balances()


async def test_an_address_is_not_given_from_a_range_that_is_going_at_that_very_moment() -> None:
    async with cluster() as c:
        await add_range(c, "extra", "10.50.0.0/28")
        await c.keeper.look()
        results: list[Any] = await asyncio.gather(
            c.delete_object(SERVICE_CIDRS, "extra"),
            c.create("a", clusterIP="10.50.0.3"),
            return_exceptions=True,
        )
        await c.keeper.look()
        refused = isinstance(results[1], StatusError)
        assert refused == ("extra" not in c.entries(SERVICE_CIDRS))


def service_cidr(name: str, *cidrs: str, ending: bool = False, held: bool = True) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "finalizers": [FINALIZER] if held else []}
    if ending:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"cidrs": list(cidrs)}}


@pytest.mark.parametrize(
    ("taken", "release"),
    [([], True), (["10.50.0.0"], True), (["10.50.0.15"], True), (["10.50.0.1"], False), (["fd00::1"], False)],
)
def test_only_addresses_that_a_range_gives_out_hold_it(taken: list[str], release: bool) -> None:
    (step,) = plan_ranges([service_cidr("r", "10.50.0.0/28", "fd00::/112", ending=True)], taken)
    assert step.release == release


def test_a_range_that_needs_nothing_gets_nothing() -> None:
    fine = service_cidr("r", "10.50.0.0/28")
    fine["status"] = {
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "", "message": "Kubernetes Service CIDR is ready"}
        ]
    }
    assert plan_ranges([fine], []) == []
