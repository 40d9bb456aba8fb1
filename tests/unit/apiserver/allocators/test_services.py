"""Addresses and ports come with the Service and go with it: never two Services the same, never one left "
"over."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairway.api.errors import StatusError
from fairway.api.resources import ENDPOINTS, IP_ADDRESSES

from .cluster import NAMESPACE, Cluster, cluster

BOTH = ("10.96.0.0/16", "fd00:96::/112")


async def test_a_service_has_an_address_from_its_first_moment() -> None:
    async with cluster() as c:
        spec = (await c.create("a"))["spec"]
        assert c.addresses() == {spec["clusterIP"]: "ns/a"}
        labels = c.entries(IP_ADDRESSES)[spec["clusterIP"]].labels
        assert labels == {
            "ipaddress.kubernetes.io/ip-family": "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }


async def test_what_is_freed_can_be_had_again_at_once() -> None:
    async with cluster() as c:
        await c.create("a", type="NodePort", clusterIP="10.96.0.7", ports=[{"port": 80, "nodePort": 30007}])
        await c.delete("a")
        assert (c.addresses(), c.ports()) == ({}, set())
        await c.create("b", type="NodePort", clusterIP="10.96.0.7", ports=[{"port": 80, "nodePort": 30007}])
        await c.change("b", type="ExternalName", externalName="a.b")
        await c.create("c", type="NodePort", clusterIP="10.96.0.7", ports=[{"port": 80, "nodePort": 30007}])
        assert c.balances()


async def test_a_dry_run_takes_nothing() -> None:
    async with cluster() as c:
        obj = await c.create("a", dry_run=True, type="NodePort")
        assert obj["spec"]["clusterIP"]
        assert (c.addresses(), c.ports()) == ({}, set())


@pytest.mark.parametrize(
    "spec",
    [
        {"clusterIP": "10.96.0.7"},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30007}]},
        {
            "type": "LoadBalancer",
            "externalTrafficPolicy": "Local",
            "healthCheckNodePort": 30007,
            "ports": [{"port": 80}],
        },
    ],
)
async def test_of_many_who_want_the_same_exactly_one_gets_it(spec: dict[str, Any]) -> None:
    async with cluster() as c:
        found = await asyncio.gather(
            *[c.create(f"s{number}", **spec) for number in range(64)], return_exceptions=True
        )
        codes = Counter(each.code if isinstance(each, StatusError) else 201 for each in found)
        texts = {each.message.partition(": ")[2] for each in found if isinstance(each, StatusError)}
        assert codes == {201: 1, 422: 63}
        assert len(texts) == 1
        assert "already allocated" in texts.pop()
        assert c.balances()


async def test_the_last_addresses_of_a_range_are_found_by_many_at_once() -> None:
    async with cluster("10.96.0.0/28") as c:
        found = await asyncio.gather(*[c.create(f"s{n}") for n in range(20)], return_exceptions=True)
        full = [each for each in found if isinstance(each, StatusError)]
        assert len(c.addresses()) == 14
        assert {(each.code, each.message) for each in full} == {
            (500, "Internal error occurred: failed to allocate a serviceIP: range is full")
        }
        assert c.balances()


async def test_nothing_stays_taken_when_the_second_of_two_can_not_be_had() -> None:
    async with cluster(*BOTH) as c:
        await c.create("a", clusterIP="fd00:96::7")
        addresses = ["10.96.0.7", "fd00:96::7"]
        text = await c.refusal(
            "b", clusterIP="10.96.0.7", clusterIPs=addresses, ipFamilyPolicy="RequireDualStack"
        )
        assert text.endswith("failed to allocate IP fd00:96::7: provided IP is already allocated")
        assert c.addresses() == {"fd00:96::7": "ns/a"}


async def test_a_refused_node_port_leaves_the_address_free() -> None:
    async with cluster() as c:
        wanted: dict[str, Any] = {"clusterIP": "10.96.0.7", "type": "NodePort"}
        text = await c.refusal("a", **wanted, ports=[{"port": 80, "nodePort": 1}])
        assert text.endswith("The range of valid ports is 30000-32767")
        assert c.addresses() == {}


async def test_two_families_are_taken_and_given_up_by_policy() -> None:
    async with cluster(*BOTH) as c:
        first = (await c.create("a"))["spec"]["clusterIP"]
        both = (await c.change("a", ipFamilyPolicy="PreferDualStack"))["spec"]
        assert both["ipFamilies"] == ["IPv4", "IPv6"]
        assert both["clusterIPs"][0] == first
        assert c.balances()
        one = (await c.change("a", ipFamilyPolicy="SingleStack"))["spec"]
        assert one["clusterIPs"] == [first]
        assert c.balances()


async def test_an_address_is_known_by_its_value_not_by_its_spelling() -> None:
    async with cluster(*BOTH) as c:
        await c.create("a", clusterIP="FD00:96:0::7")
        assert c.addresses() == {"fd00:96::7": "ns/a"}
        assert "already allocated" in await c.refusal("b", clusterIP="fd00:96::7")
        await c.delete("a")
        assert c.addresses() == {}


async def test_ports_of_one_number_share_a_node_port_and_another_service_can_not() -> None:
    async with cluster() as c:
        ports = [{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}]
        spec = (await c.create("a", type="NodePort", ports=ports))["spec"]
        (number,) = {port["nodePort"] for port in spec["ports"]}
        taken = {"type": "NodePort", "ports": [{"port": 53, "protocol": "UDP", "nodePort": number}]}
        assert "provided port is already allocated" in await c.refusal("b", **taken)


async def test_switching_the_traffic_policy_takes_and_frees_the_health_check_port() -> None:
    async with cluster() as c:
        spec = (await c.create("a", type="LoadBalancer", externalTrafficPolicy="Local"))["spec"]
        assert spec["healthCheckNodePort"] in c.ports()
        spec = (await c.change("a", externalTrafficPolicy="Cluster"))["spec"]
        assert "healthCheckNodePort" not in spec
        assert c.balances()


async def test_a_node_port_in_an_external_name_is_nobodys() -> None:
    async with cluster() as c:
        port = {"port": 80, "nodePort": 30007}
        await c.create("a", type="NodePort", ports=[port])
        await c.create("b", type="ExternalName", externalName="a.b", ports=[port])
        with pytest.raises(StatusError, match="provided port is already allocated"):
            await c.change("b", type="NodePort")
        await c.delete("b")
        assert c.ports() == {30007}


async def test_the_endpoints_of_a_deleted_service_go_with_it() -> None:
    async with cluster() as c:
        await c.create("a")
        await c.create_object(ENDPOINTS, {"metadata": {"name": "a"}}, NAMESPACE)
        await c.create_object(ENDPOINTS, {"metadata": {"name": "b"}}, NAMESPACE)
        await c.delete("a")
        assert list(c.entries(ENDPOINTS)) == ["ns/b"]


async def test_endpoints_may_not_lead_to_another_services_address() -> None:
    async with cluster() as c:
        address = (await c.create("a"))["spec"]["clusterIP"]
        subsets = [{"addresses": [{"ip": address}], "ports": [{"port": 80}]}]
        with pytest.raises(StatusError, match="may not be the cluster IP of another Service") as refused:
            await c.create_object(ENDPOINTS, {"metadata": {"name": "b"}, "subsets": subsets}, NAMESPACE)
        assert refused.value.code == 422
        await c.create_object(ENDPOINTS, {"metadata": {"name": "a"}, "subsets": subsets}, NAMESPACE)


# -- any sequence of changes ---------------------------------------------------------------------------------

names = st.sampled_from("abcd")
addresses = st.sampled_from([None, "10.96.0.1", "10.96.0.2", "None", "fd00:96::1", "10.1.1.1"])
node_port = st.sampled_from([None, 30001, 30002, 30003, 40000])


@st.composite
def specs(draw: Any) -> dict[str, Any]:
    kind = draw(st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]))
    spec: dict[str, Any] = {
        "type": kind,
        "clusterIP": draw(addresses),
        "ipFamilyPolicy": draw(st.sampled_from([None, "SingleStack", "PreferDualStack", "RequireDualStack"])),
        "externalTrafficPolicy": draw(st.sampled_from([None, "Local", "Cluster"])),
        "healthCheckNodePort": draw(node_port),
        "externalName": "a.b" if kind == "ExternalName" else None,
        "ports": [
            {"name": name, "port": draw(st.integers(1, 3)), "nodePort": draw(node_port)}
            for name in draw(st.sampled_from(["x", "xy"]))
        ],
    }
    return {name: value for name, value in spec.items() if value is not None}


steps = st.one_of(
    st.tuples(st.just("create"), names, specs()),
    st.tuples(st.just("change"), names, specs()),
    st.tuples(st.just("delete"), names, st.none()),
)


async def take_step(c: Cluster, action: str, name: str, spec: dict[str, Any] | None) -> int:
    """The answer's code."""
    try:
        if action == "delete":
            await c.delete(name)
        else:
            await (c.create if action == "create" else c.change)(name, **(spec or {}))
    except StatusError as error:
        return error.code
    return 200


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=12), st.booleans(), st.integers())
def test_whatever_happens_what_is_taken_is_what_is_held(changes: list[Any], at_once: bool, seed: int) -> None:
    async def scenario() -> None:
        async with cluster("10.96.0.0/28", "fd00:96::/124", ports=(30000, 30009), seed=seed) as c:
            if at_once:
                codes = await asyncio.gather(*[take_step(c, *change) for change in changes])
            else:
                codes = [await take_step(c, *change) for change in changes]
            assert set(codes) <= {200, 404, 409, 422}
            assert c.balances()

    asyncio.run(scenario())
