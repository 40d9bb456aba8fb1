"""What a Service is in the kernel, how little a change costs, and that any way leads to the same state."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fairway.api.objects import EndpointSlice, Service
from fairway.kernel.fake_nftables import FakeNftables
from fairway.proxy.changes import Tracker
from fairway.proxy.model import Family, Protocol, ServicePortName
from fairway.proxy.nftables.applier import carry_out
from fairway.proxy.nftables.elements import arrange, endpoint_ids
from fairway.proxy.nftables.plan import Planner, Update
from fairway.proxy.nftables.ruleset import BASE_CHAINS, TABLE
from fairway.proxy.nftables.sync import replace, synchronise
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from tests.unit.proxy.objects import endpoint, endpoint_slice, service

SETTINGS = Settings(
    cluster_cidrs=("10.244.0.0/16",), service_ranges=("10.96.0.0/16", "fd00:96::/112"), round_robin=False
)


class Programmed:
    """A planner whose every transaction goes into a fake kernel."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.tracker = Tracker(Place("n1"))
        self.planner = Planner(settings, "n1")
        self.nft = FakeNftables()
        carry_out(self.nft, synchronise(self.planner, {}))
        self._services: dict[str, Service] = {}
        self._slices: dict[str, EndpointSlice] = {}

    def put(self, view: Service) -> Update:
        old = self._services.get(view.metadata.name)
        self._services[view.metadata.name] = view
        self.tracker.service_changed(view.metadata.key, old, view)
        return self._apply()

    def delete(self, name: str) -> Update:
        self.tracker.service_changed(f"default/{name}", self._services.pop(name, None), None)
        return self._apply()

    def slice(self, view: EndpointSlice) -> Update:
        old = self._slices.get(view.metadata.name)
        self._slices[view.metadata.name] = view
        self.tracker.slice_changed(view.metadata.key, old, view)
        return self._apply()

    def elements(self, name: str, family: Family = Family.IPV4) -> dict[str, str]:
        return self.nft.elements(family, TABLE, name)

    def chains(self) -> dict[str, list[str]]:
        return self.nft.tables["ip", TABLE].chains

    def _apply(self) -> Update:
        update = self.planner.update(self.tracker.take())
        if update.transaction:
            self.nft.run(update.transaction.text)
        return update


@pytest.fixture
def programmed() -> Programmed:
    return Programmed()


def test_a_cluster_ip_leads_to_its_endpoints(programmed: Programmed) -> None:
    programmed.put(service())
    programmed.slice(endpoint_slice(["10.244.0.1", "10.244.0.2"]))
    assert programmed.elements("services") == {"10.96.0.80 . tcp . 80": "goto cluster-tcp-2"}
    assert programmed.elements("tcp-endpoints") == {
        "10.96.0.80 . 80 . 0": "10.244.0.1 . 9376",
        "10.96.0.80 . 80 . 1": "10.244.0.2 . 9376",
    }
    assert programmed.chains()["cluster-tcp-2"] == [
        "ip saddr != 10.244.0.0/16 jump mark-masquerade",
        "dnat ip to ip daddr . tcp dport . numgen random mod 2 map @tcp-endpoints",
    ]


def test_a_service_without_endpoints_is_refused(programmed: Programmed) -> None:
    programmed.put(service(type="NodePort", nodePort=30061))
    assert programmed.elements("services") == {
        "10.96.0.80 . tcp . 80": "goto refuse",
        "0.0.0.0 . tcp . 30061": "goto refuse",
    }


def test_both_families_are_planned_by_the_same_code(programmed: Programmed) -> None:
    programmed.put(service(clusterIPs=["10.96.0.80", "fd00:96::80"], type="NodePort", nodePort=30061))
    programmed.slice(endpoint_slice(["fd00:244::1"], name="web-6", kind="IPv6"))
    assert programmed.elements("services", Family.IPV6) == {
        "fd00:96::80 . tcp . 80": "goto cluster-tcp-1",
        ":: . tcp . 30061": "goto nodeport-external-tcp-1",
    }
    assert programmed.elements("tcp-endpoints", Family.IPV6)[":: . 30061 . 0"] == "fd00:244::1 . 9376"
    assert set(programmed.elements("services").values()) == {"goto refuse"}


def test_external_addresses_are_masqueraded_always(programmed: Programmed) -> None:
    programmed.put(service(externalIPs=["203.0.113.1"]))
    programmed.slice(endpoint_slice(["10.244.0.1"]))
    assert programmed.elements("services")["203.0.113.1 . tcp . 80"] == "goto external-tcp-1"
    assert programmed.chains()["external-tcp-1"][0] == "jump mark-masquerade"


def test_policy_local_keeps_two_pools_apart(programmed: Programmed) -> None:
    programmed.put(service(externalIPs=["203.0.113.1"], externalTrafficPolicy="Local"))
    programmed.slice(endpoint_slice([endpoint("10.244.0.1", "n1"), endpoint("10.244.1.1", "n2")]))
    key = "203.0.113.1 . tcp . 80"
    assert programmed.elements("services")[key] == "goto local-tcp-1"
    assert programmed.elements("internal")[key] == "goto internal-tcp-2"
    mine = {k: v for k, v in programmed.elements("tcp-endpoints").items() if k.startswith("203.")}
    assert mine == {
        "203.0.113.1 . 80 . 0": "10.244.0.1 . 9376",
        "203.0.113.1 . 80 . 32768": "10.244.0.1 . 9376",
        "203.0.113.1 . 80 . 32769": "10.244.1.1 . 9376",
    }


def test_policy_local_without_a_local_endpoint_drops(programmed: Programmed) -> None:
    programmed.put(
        service(externalIPs=["203.0.113.1"], externalTrafficPolicy="Local", internalTrafficPolicy="Local")
    )
    programmed.slice(endpoint_slice([endpoint("10.244.1.1", "n2")]))
    assert programmed.elements("services") == {
        "10.96.0.80 . tcp . 80": "drop",
        "203.0.113.1 . tcp . 80": "goto local-tcp-0",
    }
    assert programmed.chains()["local-tcp-0"][-1] == "drop"


def test_source_ranges_guard_the_balancers_address_alone(programmed: Programmed) -> None:
    status = {"loadBalancer": {"ingress": [{"ip": "203.0.113.19"}]}}
    ranges = ["192.0.2.0/24"]
    programmed.put(
        service(type="LoadBalancer", status=status, loadBalancerSourceRanges=ranges, nodePort=30061)
    )
    programmed.slice(endpoint_slice(["10.244.0.1"]))
    assert set(programmed.elements("firewalled")) == {"203.0.113.19 . tcp . 80"}
    assert set(programmed.elements("allowed-sources")) == {"203.0.113.19 . tcp . 80 . 192.0.2.0/24"}


def test_only_endpoints_that_may_pass_this_node_are_in_the_hairpin_set(programmed: Programmed) -> None:
    programmed.put(service())
    entries = [endpoint("10.244.0.1", "n1"), endpoint("10.244.1.1", "n2"), endpoint("192.0.2.42")]
    programmed.slice(endpoint_slice(entries))
    assert set(programmed.elements("hairpin")) == {"10.244.0.1 . 10.244.0.1", "192.0.2.42 . 192.0.2.42"}


def test_a_hairpin_entry_stays_as_long_as_any_service_needs_it(programmed: Programmed) -> None:
    for number, name in enumerate(("a", "b")):
        programmed.put(service(name, f"10.96.0.{number}"))
        programmed.slice(endpoint_slice(["10.244.0.1"], name))
    programmed.delete("a")
    assert programmed.elements("hairpin")
    programmed.delete("b")
    assert not programmed.elements("hairpin")


def test_cluster_ips_are_listed_one_by_one_only_where_the_range_is_unknown() -> None:
    known, unknown = Programmed(), Programmed(Settings())
    ports = [{"name": name, "port": port} for name, port in (("a", 80), ("b", 81))]
    for each in (known, unknown):
        each.put(service(ports=ports))
    assert not known.elements("cluster-ips")
    assert set(unknown.elements("cluster-ips")) == {"10.96.0.80"}
    unknown.put(service(ports=ports[:1]))
    assert set(unknown.elements("cluster-ips")) == {"10.96.0.80"}
    unknown.delete("web")
    assert not unknown.elements("cluster-ips")


# -- what a change costs -------------------------------------------------------------------------------


def many(count: int) -> list[str]:
    return [f"10.244.{number >> 8}.{number & 255}" for number in range(1, count + 1)]


def test_adding_an_endpoint_to_a_hundred_touches_its_own_slot_and_the_count(programmed: Programmed) -> None:
    programmed.put(service())
    programmed.slice(endpoint_slice([endpoint(ip, "n2") for ip in many(100)]))
    change = programmed.slice(endpoint_slice([endpoint(ip, "n2") for ip in ("10.1.1.1", *many(100))]))
    assert (change.transaction.elements_added, change.transaction.elements_deleted) == (2, 1)


def test_removing_the_first_of_a_hundred_endpoints_moves_one_other(programmed: Programmed) -> None:
    programmed.put(service())
    programmed.slice(endpoint_slice([endpoint(ip, "n2") for ip in many(100)]))
    change = programmed.slice(endpoint_slice([endpoint(ip, "n2") for ip in many(100)[1:]]))
    assert (change.transaction.elements_added, change.transaction.elements_deleted) == (2, 3)


def test_replacing_an_endpoint_touches_one_element(programmed: Programmed) -> None:
    programmed.put(service())
    programmed.slice(endpoint_slice([endpoint(ip, "n2") for ip in many(3)]))
    change = programmed.slice(endpoint_slice([endpoint(ip, "n2") for ip in ("10.244.9.9", *many(3)[1:])]))
    assert change.transaction.commands == (
        f"delete element ip {TABLE} tcp-endpoints {{ 10.96.0.80 . 80 . 0 }}",
        f"add element ip {TABLE} tcp-endpoints {{ 10.96.0.80 . 80 . 0 : 10.244.9.9 . 9376 }}",
    )


def test_what_changes_nothing_costs_nothing(programmed: Programmed) -> None:
    programmed.put(service())
    programmed.slice(endpoint_slice(["10.244.0.1"]))
    same = endpoint_slice(["10.244.0.1", endpoint("10.244.0.2", ready=False)])
    assert not programmed.slice(same).transaction


@pytest.mark.parametrize("round_robin", [False, True])
def test_the_number_of_chains_is_bounded_however_many_services_there_are(round_robin: bool) -> None:
    programmed = Programmed(Settings(round_robin=round_robin))
    sizes = []
    for number in range(300):
        name = f"s{number}"
        programmed.put(service(name, f"10.96.{number >> 8}.{number & 255}"))
        programmed.slice(endpoint_slice(many(2 + number % 2), name))
        sizes.append(len(programmed.chains()))
    if round_robin:
        assert sizes[-1] <= sizes[0] + 300
    else:
        assert sizes[-1] == sizes[1]


def test_chains_that_nobody_needs_any_more_go(programmed: Programmed) -> None:
    before = set(programmed.chains())
    programmed.put(service(sessionAffinity="ClientIP", type="NodePort", nodePort=30061))
    programmed.slice(endpoint_slice(["10.244.0.1"]))
    assert set(programmed.chains()) > before
    programmed.delete("web")
    assert set(programmed.chains()) == before


# -- affinity ------------------------------------------------------------------------------------------


def test_sticky_endpoints_are_found_by_ids_that_stay_the_same(programmed: Programmed) -> None:
    programmed.put(service(sessionAffinity="ClientIP"))
    programmed.slice(endpoint_slice(["10.244.0.1", "10.244.0.2"]))
    before = programmed.elements("tcp-sticky").copy()
    programmed.slice(endpoint_slice(["10.244.0.2", "10.244.0.3"]))
    after = programmed.elements("tcp-sticky")
    kept = [key for key in before if key in after]
    assert [after[key] for key in kept] == ["10.244.0.2 . 9376"]
    assert programmed.elements("services") == {"10.96.0.80 . tcp . 80": "goto cluster-tcp-2-sticky-10800"}
    assert set(programmed.elements("sticky-slots").values()) == {key.rsplit(" . ", 1)[1] for key in after}


def test_ids_never_collide_within_a_service_and_carry_the_tag() -> None:
    name = ServicePortName("default", "web", "", Protocol.TCP, Family.IPV4)
    # So many that some of their checksums do collide.
    targets = [f"{ip} . {port}" for ip in many(20_000) for port in (80, 81, 82)]
    ids = endpoint_ids(name, targets)
    assert len(set(ids.values())) == len(targets)
    assert all(value.startswith("f") and len(value.split(":")[0]) == 4 for value in ids.values())


def test_an_element_that_passes_unchanged_from_one_service_to_another_is_not_touched(
    programmed: Programmed,
) -> None:
    for number, name in enumerate(("a", "b")):
        programmed.put(service(name, f"10.96.0.{number}", externalIPs=["203.0.113.1"]))
        programmed.slice(endpoint_slice(["10.244.0.1"], name))
    assert "203.0.113.1" not in programmed.delete("a").transaction.text


# -- conflicts -----------------------------------------------------------------------------------------


def test_a_cluster_ip_can_not_be_taken_over_as_an_external_ip(programmed: Programmed) -> None:
    programmed.put(service("a-thief", "10.96.0.1", externalIPs=["10.96.0.80"]))
    programmed.slice(endpoint_slice(["10.244.6.6"], "a-thief"))
    assert programmed.elements("tcp-endpoints")["10.96.0.80 . 80 . 0"] == "10.244.6.6 . 9376"
    programmed.put(service())
    programmed.slice(endpoint_slice(["10.244.0.1"]))
    assert programmed.elements("tcp-endpoints")["10.96.0.80 . 80 . 0"] == "10.244.0.1 . 9376"
    programmed.delete("web")
    assert programmed.elements("tcp-endpoints")["10.96.0.80 . 80 . 0"] == "10.244.6.6 . 9376"


def test_of_two_services_with_one_external_ip_the_first_by_name_has_it_until_it_goes(
    programmed: Programmed,
) -> None:
    for number, name in enumerate(("b", "a", "c")):
        programmed.put(service(name, f"10.96.0.{number}", externalIPs=["203.0.113.1"]))
        programmed.slice(endpoint_slice([f"10.244.0.{number}"], name))
    key = "203.0.113.1 . 80 . 0"
    assert programmed.elements("tcp-endpoints")[key] == "10.244.0.1 . 9376"
    programmed.delete("a")
    assert programmed.elements("tcp-endpoints")[key] == "10.244.0.0 . 9376"
    programmed.put(service("b", "10.96.0.0"))
    assert programmed.elements("tcp-endpoints")[key] == "10.244.0.2 . 9376"


# -- any way leads to the same state -------------------------------------------------------------------

NAMES = st.sampled_from("abcd")
PODS = st.lists(
    st.builds(
        endpoint,
        st.sampled_from(many(6)),
        st.sampled_from(["", "n1", "n2"]),
        ready=st.booleans(),
        serving=st.booleans(),
        terminating=st.booleans(),
    ),
    max_size=5,
)


@st.composite
def services(draw: st.DrawFn) -> Service:
    name = draw(NAMES)
    number = ord(name) - ord("a")
    ports: list[dict[str, Any]] = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "name": st.just(""),
                    "port": st.sampled_from([80, 81]),
                    "protocol": st.sampled_from(["TCP", "UDP"]),
                }
            ),
            min_size=1,
            max_size=2,
            unique_by=lambda port: port["protocol"],
        )
    )
    kind = draw(st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]))
    for port in ports:
        port["nodePort"] = 30000 + number
    balancer = {"loadBalancer": {"ingress": [{"ip": draw(st.sampled_from(["203.0.113.1", "203.0.113.2"]))}]}}
    spec = {
        "clusterIPs": [f"10.96.0.{number}", f"fd00:96::{number}"],
        "ports": ports,
        "type": kind,
        "externalIPs": draw(
            st.lists(st.sampled_from(["203.0.113.1", "203.0.113.3", "10.96.0.1"]), max_size=2)
        ),
        "sessionAffinity": draw(st.sampled_from(["None", "ClientIP"])),
        "internalTrafficPolicy": draw(st.sampled_from(["Cluster", "Local"])),
        "externalTrafficPolicy": draw(st.sampled_from(["Cluster", "Local"])),
        "loadBalancerSourceRanges": draw(
            st.lists(st.sampled_from(["10.0.0.0/8", "192.0.2.0/24"]), max_size=2)
        ),
        "status": balancer if kind == "LoadBalancer" else {},
    }
    return service(name, f"10.96.0.{number}", **spec)


@st.composite
def slices(draw: st.DrawFn) -> EndpointSlice:
    name = draw(NAMES)
    protocol = draw(st.sampled_from(["TCP", "UDP"]))
    number = draw(st.integers(0, 1))
    return endpoint_slice(draw(PODS), name, f"{name}-{protocol}-{number}".lower(), protocol)


STEPS = st.lists(st.one_of(services(), slices(), NAMES), min_size=1, max_size=25)


def normalised(nft: FakeNftables) -> dict[tuple[str, str], Any]:
    """The whole state, with slots and ids as sets: which endpoint has which is a matter of history."""
    state: dict[tuple[str, str], Any] = {}
    for (family, _), table in nft.tables.items():
        state[family, "chains"] = {name: tuple(rules) for name, rules in table.chains.items()}
        for name, known in table.sets.items():
            if not name.endswith(("-endpoints", "-sticky", "-slots")):
                state[family, name] = dict(known.elements)
                continue
            pools: dict[tuple[str, bool], list[tuple[int, str]]] = defaultdict(list)
            for key, value in known.elements.items():
                frontend, slot = key.rsplit(" . ", 1)
                number = 0 if name.endswith("-sticky") else int(slot)
                pools[frontend, number >= 32768].append((number % 32768, value))
            for pool in pools.values():
                if not name.endswith("-sticky"):
                    assert sorted(slot for slot, _ in pool) == list(range(len(pool)))
            state[family, name] = {key: sorted(value for _, value in pool) for key, pool in pools.items()}
    return state


@given(steps=STEPS, round_robin=st.booleans(), ranges=st.booleans())
@hypothesis_settings(max_examples=150, deadline=None)
def test_step_by_step_leads_where_starting_from_nothing_leads(
    steps: list[Service | EndpointSlice | str], round_robin: bool, ranges: bool
) -> None:
    settings = Settings(
        cluster_cidrs=("10.244.0.0/16",),
        service_ranges=("10.96.0.0/16",) if ranges else (),
        round_robin=round_robin,
    )
    programmed = Programmed(settings)
    for step in steps:
        match step:
            case Service():
                programmed.put(step)
            case EndpointSlice():
                programmed.slice(step)
            case name:
                programmed.delete(name)
    fresh = Planner(settings, "n1")
    fresh.update(programmed.planner.states())
    kernel = FakeNftables()
    kernel.run(replace(fresh).text)
    assert normalised(programmed.nft) == normalised(kernel)
    # A synchronisation over what is there comes to the same.
    existing = {Family(family): list(table.chains) for (family, _), table in programmed.nft.tables.items()}
    carry_out(programmed.nft, synchronise(fresh, existing))
    assert normalised(programmed.nft) == normalised(kernel)


@given(st.lists(st.sampled_from(many(8)), unique=True), st.lists(st.sampled_from(many(8)), unique=True))
def test_slots_are_dense_and_those_who_had_one_below_the_new_count_keep_it(
    before: list[str], after: list[str]
) -> None:
    def endpoints(ips: list[str]) -> Any:
        tracked = Tracker(Place("n1"))
        tracked.service_changed("default/web", None, service())
        tracked.slice_changed("default/web-1", None, endpoint_slice(sorted(ips)))
        return tracked.take()["default/web"][0].pools.cluster

    first = arrange((), endpoints(before))
    second = arrange(first, endpoints(after))
    assert sorted(second) == sorted(f"{ip} . 9376" for ip in after)
    for slot, target in enumerate(first[: len(second)]):
        if target in second:
            assert second[slot] == target


def test_until_the_maps_are_filled_a_new_table_is_called_by_nobody() -> None:
    nft, steps = FakeNftables(), synchronise(Planner(SETTINGS, "n1"), {})
    nft.run(steps.prepare.text)
    assert not nft.tables["ip", TABLE].hooks
    nft.refill(steps.refills)
    nft.run(steps.open.text)
    assert nft.tables["ip", TABLE].hooks.keys() == BASE_CHAINS.keys()


def test_until_the_maps_are_filled_anew_what_they_held_still_leads_somewhere(programmed: Programmed) -> None:
    programmed.put(service())
    programmed.slice(endpoint_slice(["10.244.0.1", "10.244.0.2"]))
    before = list(programmed.chains()["cluster-tcp-2"])
    existing = {family: list(programmed.nft.tables[family, TABLE].chains) for family in Family}
    steps = synchronise(Planner(SETTINGS, "n1"), existing)
    programmed.nft.run(steps.prepare.text)
    assert programmed.elements("services") == {"10.96.0.80 . tcp . 80": "goto cluster-tcp-2"}
    assert programmed.chains()["cluster-tcp-2"] == before
    programmed.nft.refill(steps.refills)
    programmed.nft.run(steps.open.text)
    assert "cluster-tcp-2" not in programmed.chains()
