"""Allocations and Services that have parted are brought together again, and each repair is an Event."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.resources import EVENTS, IP_ADDRESSES, SERVICE_CIDRS, SERVICES
from fairway.apiserver.allocators.ledger import read_ledger
from fairway.apiserver.allocators.ranges import port_band
from fairway.apiserver.allocators.repair import EnterPort, Holder, RemovePort, repair_ports, repair_service
from fairway.apiserver.allocators.services import address_object, port_key
from fairway.apiserver.encoding import stored_text
from fairway.storage.backend import Delete, Put

from .cluster import Cluster, cluster


def events(c: Cluster) -> list[tuple[str, str, str]]:
    found = [entry.obj() for entry in c.entries(EVENTS).values()]
    return sorted((each["reason"], each["involvedObject"]["name"], each["message"]) for each in found)


async def test_where_all_is_well_nothing_is_touched_or_said() -> None:
    async with cluster("10.96.0.0/16", "fd00:96::/112") as c:
        await c.create(
            "a", type="LoadBalancer", externalTrafficPolicy="Local", ipFamilyPolicy="RequireDualStack"
        )
        await c.create("b", clusterIP="None")
        await c.create("c", type="ExternalName", externalName="a.b")
        c.pass_time(3600)
        before = c.store.revision
        await c.repairer.full_pass()
        assert (c.store.revision, events(c)) == (before, [])


async def test_an_address_deleted_by_hand_is_entered_again_at_once() -> None:
    async with cluster() as c:
        address = (await c.create("a"))["spec"]["clusterIP"]
        await c.repairer.full_pass()
        await c.delete_object(IP_ADDRESSES, address)
        await c.repairer.look_at_changes()
        assert c.balances()
        note = f"Cluster IP [IPv4]: {address} is not allocated; repairing"
        assert events(c) == [("ClusterIPNotAllocated", "a", note)]


async def test_an_ordinary_deletion_needs_no_repair() -> None:
    async with cluster() as c:
        await c.create("a")
        await c.repairer.full_pass()
        await c.delete("a")
        await c.repairer.look_at_changes()
        assert (c.addresses(), events(c)) == ({}, [])


async def test_a_leaked_address_is_released_after_a_grace_period() -> None:
    async with cluster() as c:
        leaked = address_object("10.96.0.9", {"namespace": "ns", "name": "gone"}, "2026-01-01T00:00:00Z")
        key = c.store.bucket(IP_ADDRESSES).storage_key("10.96.0.9")
        await c.meddle(Put(key, stored_text(leaked)))
        c.pass_time(30)
        await c.repairer.full_pass()
        assert "10.96.0.9" in c.addresses()
        c.pass_time(60)
        await c.repairer.full_pass()
        assert c.addresses() == {}
        note = "IPAddress: 10.96.0.9 for Service ns/gone appears to have leaked: cleaning up"
        assert events(c) == [("IPAddressNotAllocated", "10.96.0.9", note)]


async def test_an_address_of_the_wrong_service_is_put_right() -> None:
    async with cluster() as c:
        address = (await c.create("a"))["spec"]["clusterIP"]
        wrong = address_object(address, {"namespace": "ns", "name": "b"}, "2026-01-01T00:00:00Z")
        await c.meddle(Put(c.store.bucket(IP_ADDRESSES).storage_key(address), stored_text(wrong)))
        await c.repairer.full_pass()
        assert c.balances()
        assert [reason for reason, _, _ in events(c)] == ["ClusterIPNotAllocated"]


async def test_addresses_that_others_made_are_left_alone() -> None:
    async with cluster() as c:
        parent = {"resource": "services", "namespace": "x", "name": "y"}
        await c.create_object(
            IP_ADDRESSES, {"metadata": {"name": "10.96.0.9"}, "spec": {"parentRef": parent}}
        )
        c.pass_time(3600)
        await c.repairer.full_pass()
        assert "10.96.0.9" in c.entries(IP_ADDRESSES)


async def test_what_can_not_be_repaired_is_said_once() -> None:
    async with cluster() as c:
        await c.create_object(SERVICE_CIDRS, {"metadata": {"name": "x"}, "spec": {"cidrs": ["10.50.0.0/28"]}})
        await c.keeper.look()
        await c.create("a", clusterIP="10.50.0.3")
        await c.meddle(Delete(c.store.bucket(SERVICE_CIDRS).storage_key("x")))
        for _ in range(3):
            await c.repairer.full_pass()
        note = (
            "Cluster IP [IPv4]: 10.50.0.3 is not within any configured Service CIDR; please recreate service"
        )
        assert events(c) == [("ClusterIPOutOfRange", "a", note)]


async def test_ports_are_entered_and_released() -> None:
    async with cluster() as c:
        await c.create("a", type="NodePort", ports=[{"port": 80, "nodePort": 30001}])
        await c.meddle(Delete(port_key(30001)), Put(port_key(30002), b'"ns/gone"'))
        await c.repairer.full_pass()
        assert c.balances()
        assert [event[:2] for event in events(c)] == [("PortLeaked", "kubernetes"), ("PortNotAllocated", "a")]


async def test_a_store_brought_back_without_its_allocations_is_whole_after_one_pass() -> None:
    async with cluster("10.96.0.0/16", "fd00:96::/112") as c:
        for number in range(20):
            await c.create(f"s{number}", type="NodePort", ipFamilyPolicy="PreferDualStack")
        keys = [c.store.bucket(IP_ADDRESSES).storage_key(name) for name in c.entries(IP_ADDRESSES)]
        await c.meddle(*[Delete(key) for key in (*keys, *c.store.allocations)])
        await c.repairer.full_pass()
        assert c.balances()
        assert len(events(c)) == 60


async def test_a_repair_that_comes_too_late_does_no_harm() -> None:
    async with cluster() as c:
        address = (await c.create("a"))["spec"]["clusterIP"]
        await c.meddle(Delete(c.store.bucket(IP_ADDRESSES).storage_key(address)))
        ledger = read_ledger(c.entries(SERVICES), c.entries(IP_ADDRESSES), c.now)
        (planned,) = repair_service(ledger.services["ns/a"], ledger, frozenset({address}))
        await c.delete("a")
        await c.repairer.mend(planned)
        assert (c.addresses(), events(c)) == ({}, [])


def holder(name: str, *ports: int) -> Holder:
    return Holder("ns", name, ports=frozenset(ports))


@pytest.mark.parametrize(
    ("holders", "allocated", "expected"),
    [
        ([holder("a", 30001)], {30001: 5}, []),
        ([holder("a", 30001), holder("b", 30001)], {30001: 5}, [("PortAlreadyAllocated", None)]),
        ([holder("a", 20)], {}, [("PortOutOfRange", None)]),
        ([holder("a", 30001)], {}, [("PortNotAllocated", EnterPort(30001, holder("a", 30001)))]),
        ([], {30001: 5}, [("PortLeaked", RemovePort(30001, 5))]),
    ],
)
def test_ports_are_compared_with_their_holders(holders: Any, allocated: Any, expected: Any) -> None:
    found = repair_ports(holders, allocated, port_band(30000, 32767), holder("kubernetes"))
    assert [(repair.report.reason, repair.change) for repair in found] == expected
