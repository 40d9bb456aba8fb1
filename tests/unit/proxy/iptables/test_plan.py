"""What a Service is in iptables beyond the recorded cases, how little a change writes, and where it leads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fairway.proxy.iptables.style import probability
from fairway.proxy.settings import LocalDetection, Settings
from tests.unit.proxy.iptables.kernels import SETTINGS, Node
from tests.unit.proxy.objects import endpoint, endpoint_slice, service

SVC, EXT, FW = (f"KUBE-{kind}-LOLE4ISW44XBNF3G" for kind in ("SVC", "EXT", "FW"))


def started(settings: Settings = SETTINGS) -> Node:
    node = Node(settings)
    node.synchronise()
    return node


def test_all_endpoints_are_equally_likely() -> None:
    for count in (1, 2, 3, 7, 100, 1000):
        left, chances = 1.0, []
        for place in range(count):
            chance = float(probability(count - place)) if place < count - 1 else 1.0
            chances.append(left * chance)
            left -= chances[-1]
        assert max(chances) - min(chances) < 1e-6


def test_endpoints_come_in_the_order_of_their_text() -> None:
    node = started()
    node.put(service())
    node.slice(endpoint_slice(["10.244.0.9", "10.244.0.10", "10.244.0.100"]))
    node.apply()
    text = "\n".join(node.chain(SVC))
    places = [text.index(f"-> {ip}:9376") for ip in ("10.244.0.100", "10.244.0.10", "10.244.0.9")]
    assert places == sorted(places)


def test_beyond_a_thousand_endpoints_comments_that_name_them_go_and_come_back() -> None:
    node = started()
    node.put(service())
    node.slice(endpoint_slice(["10.244.0.1"]))
    node.put(service("many", "10.96.0.81"))
    node.slice(endpoint_slice([f"10.244.{i >> 8}.{i & 255}" for i in range(1, 1001)], "many"))
    node.apply()
    assert "--comment" not in node.chain(SVC)[-1]
    node.slice(endpoint_slice(["10.244.0.1"], "many"))
    node.apply()
    assert '--comment "default/web -> 10.244.0.1:9376"' in node.chain(SVC)[-1]


@pytest.mark.parametrize(
    ("detection", "match"),
    [(LocalDetection.BRIDGE_INTERFACE, "pods0"), (LocalDetection.INTERFACE_NAME_PREFIX, "pods0+")],
)
def test_pods_can_be_told_by_the_interface_they_come_from(detection: LocalDetection, match: str) -> None:
    node = started(Settings(detection=detection, pod_interface="pods0"))
    node.put(service(type="NodePort", nodePort=30061, externalTrafficPolicy="Local"))
    node.slice(endpoint_slice(["10.244.0.1"]))
    node.apply()
    assert node.chain(SVC)[0].startswith(f"-d 10.96.0.80/32 ! -i {match} -p tcp ")
    assert node.chain(EXT)[0].startswith(f'-i {match} -m comment --comment "pod traffic for default/web')


def balanced(ranges: list[str]) -> Node:
    node = started()
    ingress = {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}, {"ip": "203.0.113.7"}]}}
    node.put(service(type="LoadBalancer", status=ingress, loadBalancerSourceRanges=ranges))
    node.slice(endpoint_slice(["10.244.0.1"]))
    node.apply()
    return node


def test_a_node_inside_the_source_ranges_may_use_the_balancers_addresses_as_its_own() -> None:
    node = balanced(["198.51.100.0/24", "192.0.2.0/24"])
    sources = [rule.split()[1] for rule in node.chain(FW)[:-1]]
    assert sources == ["198.51.100.0/24", "192.0.2.0/24", "203.0.113.9/32", "203.0.113.7/32"]
    assert len(node.chain("KUBE-PROXY-FIREWALL", "filter")) == 2


def test_a_range_that_holds_everyone_needs_no_firewall() -> None:
    node = balanced(["198.51.100.0/24", "0.0.0.0/0"])
    assert FW not in node.iptables.tables[4, "nat"]
    assert node.chain("KUBE-PROXY-FIREWALL", "filter") == []


def test_a_cluster_ip_stands_before_whoever_lists_it_as_an_external_ip() -> None:
    node = started()
    node.put(service("aaa", "10.96.0.1", externalIPs=["10.96.0.80"]))
    node.slice(endpoint_slice(["10.244.0.1"], "aaa"))
    node.apply()
    node.put(service())
    node.slice(endpoint_slice(["10.244.0.2"]))
    node.apply()
    first = next(rule for rule in node.chain("KUBE-SERVICES") if "-d 10.96.0.80/32" in rule)
    assert "default/web cluster IP" in first


def test_services_that_list_one_address_come_in_the_order_of_their_names_whoever_was_first() -> None:
    node = started()
    for name, ip in (("bee", "10.96.0.2"), ("ant", "10.96.0.1")):
        node.put(service(name, ip, externalIPs=["203.0.113.2"]))
        node.apply()
    refused = [rule for rule in node.chain("KUBE-EXTERNAL-SERVICES", "filter") if "203.0.113.2" in rule]
    assert ["default/ant" in rule for rule in refused] == [True, False]


def test_node_ports_on_chosen_addresses_only_and_never_on_loopback_unless_chosen() -> None:
    node = started(Settings(nodeport_addresses=("192.0.2.0/24",)))
    assert [r.split()[1] for r in node.chain("KUBE-SERVICES")] == ["192.0.2.1/32"]
    assert node.chain("KUBE-FIREWALL", "filter") == []
    assert "net/ipv4/conf/all/route_localnet" not in node.sysctls
    node = started(Settings(nodeport_addresses=("127.0.0.0/8", "::1/128")))
    assert [r.split()[1] for r in node.chain("KUBE-SERVICES")] == ["127.0.0.1/32"]
    assert node.chain("KUBE-SERVICES", version=6) == []
    assert node.sysctls["net/ipv4/conf/all/route_localnet"] == "1"


def test_a_kernel_that_takes_stray_segments_has_none_dropped() -> None:
    node = Node()
    node.sysctls["net/netfilter/nf_conntrack_tcp_be_liberal"] = "1"
    node.synchronise()
    assert not any("INVALID" in rule for rule in node.chain("KUBE-FORWARD", "filter"))


# -- classic style -------------------------------------------------------------------------------------


def test_classic_style_drops_by_a_mark_what_has_no_endpoints() -> None:
    node = started(Settings(classic=True))
    node.put(service("hostnames", type="NodePort", nodePort=30061, externalIPs=["203.0.113.7"]))
    node.apply()
    marked = node.chain("KUBE-SERVICES")[:2] + node.chain("KUBE-NODEPORTS")
    assert [rule.endswith(" -j KUBE-MARK-DROP") for rule in marked] == [True] * 3
    assert '--comment "default/hostnames: has no endpoints"' in marked[0]
    assert node.chain("KUBE-MARK-DROP") == ["-j MARK --set-xmark 0x8000/0x8000"]
    assert "--mark 0x8000/0x8000 -j DROP" in node.chain("KUBE-FIREWALL", "filter")[0]
    for base in ("INPUT", "FORWARD", "OUTPUT"):
        assert node.chain(base, "filter")[0] == "-j KUBE-FIREWALL"
    assert node.chain("KUBE-SERVICES", "filter") == []


def test_classic_style_reads_as_in_the_books() -> None:
    node = started(Settings(classic=True))
    node.put(service("hostnames", "10.0.1.175"))
    node.slice(endpoint_slice(["10.244.3.6", "10.244.1.7", "10.244.2.3"], "hostnames"))
    node.apply()
    text = '-m comment --comment "default/hostnames:'
    assert node.chain("KUBE-SERVICES")[0] == (
        f'-d 10.0.1.175/32 -p tcp {text} cluster IP" -m tcp --dport 80 -j KUBE-SVC-NWV5X2332I4OT4T3'
    )
    chosen = node.chain("KUBE-SVC-NWV5X2332I4OT4T3")
    assert [rule.split(f'{text}" ')[1].split(" -j ")[0] for rule in chosen[:2]] == [
        "-m statistic --mode random --probability 0.33333333349",
        "-m statistic --mode random --probability 0.50000000000",
    ]
    assert chosen[2] == f'{text}" -j KUBE-SEP-57KPRZ3JQVENLNBR'
    assert node.chain("KUBE-SEP-57KPRZ3JQVENLNBR") == [
        f'-s 10.244.3.6/32 {text}" -j KUBE-MARK-MASQ',
        f'-p tcp {text}" -m tcp -j DNAT --to-destination 10.244.3.6:9376',
    ]
    assert node.chain("KUBE-POSTROUTING") == [
        '-m comment --comment "kubernetes service traffic requiring SNAT"'
        " -m mark --mark 0x4000/0x4000 -j MASQUERADE"
    ]


def test_classic_style_marks_for_dropping_at_the_end_of_local_and_firewalled_ways() -> None:
    node = started(Settings(classic=True))
    ingress = {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}]}}
    ranges = ["198.51.100.0/24"]
    node.put(
        service(
            type="LoadBalancer",
            status=ingress,
            loadBalancerSourceRanges=ranges,
            externalTrafficPolicy="Local",
        )
    )
    node.slice(endpoint_slice([endpoint("10.244.0.1", "n2")]))
    node.apply()
    ends = {chain: rules[-1] for chain, rules in node.iptables.tables[4, "nat"].items() if rules}
    assert [c[:8] for c, rule in sorted(ends.items()) if rule.endswith("-j KUBE-MARK-DROP")] == [
        "KUBE-EXT",
        "KUBE-FW-",
    ]
    assert node.chain("KUBE-PROXY-FIREWALL", "filter") == []


# -- what a change writes ------------------------------------------------------------------------------


def test_a_new_endpoint_rewrites_the_ports_own_chains_and_no_other() -> None:
    node = started()
    for number in range(50):
        node.put(service(f"s{number}", f"10.96.1.{number}"))
        node.slice(endpoint_slice([f"10.244.1.{number}"], f"s{number}"))
    node.apply()
    node.slice(endpoint_slice(["10.244.1.7", "10.244.1.99"], "s7"))
    (text,) = node.apply()
    declared = [line for line in text.splitlines() if line.startswith(":")]
    assert sorted(line[:10] for line in declared) == [":KUBE-SEP-", ":KUBE-SVC-"]
    assert "KUBE-SERVICES" not in text


def test_a_new_service_among_many_inserts_one_rule() -> None:
    node = started()
    for number in range(50):
        node.put(service(f"s{number}", f"10.96.1.{number}"))
        node.slice(endpoint_slice([f"10.244.1.{number}"], f"s{number}"))
    node.apply()
    node.put(service())
    node.slice(endpoint_slice(["10.244.0.1"]))
    (text,) = node.apply()
    assert ":KUBE-SERVICES" not in text
    assert text.count("-I KUBE-SERVICES ") == 1
    assert node.chain("KUBE-SERVICES")[-1].endswith("-j KUBE-NODEPORTS")


def test_a_refusal_is_in_force_before_the_way_goes_and_goes_after_there_is_one() -> None:
    node = started()
    node.put(service())
    node.slice(endpoint_slice(["10.244.0.1"]))
    node.apply()
    node.slice(endpoint_slice([]))
    (text,) = node.apply()
    assert text.index("-I KUBE-SERVICES") < text.index("*nat")
    node.slice(endpoint_slice(["10.244.0.1"]))
    (text,) = node.apply()
    assert text.index("*nat") < text.index("*filter")


def test_many_changes_at_once_go_in_several_transactions_and_lead_to_the_same_rules() -> None:
    node = started()
    balanced = {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}]}}
    for number in range(120):
        name = f"s{number}"
        view = service(
            name,
            f"10.96.1.{number}",
            type="LoadBalancer",
            status=balanced,
            loadBalancerSourceRanges=["198.51.100.0/24"],
        )
        node.put(view)
        node.slice(endpoint_slice([f"10.244.1.{number}", f"10.244.2.{number}"], name))
    (text,) = node.apply()
    assert text.count("*nat") > 2
    everything = node.rules()
    node.restart()
    assert node.rules() == everything
    for number in range(120):
        node.delete(f"s{number}")
    node.apply()
    assert node.rules() == started().rules()


PODS = st.lists(st.sampled_from(["10.244.0.1", "10.244.0.2", "10.244.0.10"]), unique=True)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["NodePort", "LoadBalancer"]),
        "externalIPs": st.just(["203.0.113.7"]),
        "sessionAffinity": st.just("ClientIP"),
        "externalTrafficPolicy": st.sampled_from(["Local", "Cluster"]),
        "internalTrafficPolicy": st.sampled_from(["Local", "Cluster"]),
        "status": st.just({"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}]}}),
        "loadBalancerSourceRanges": st.just(["198.51.100.0/24"]),
        "nodePort": st.just(30061),
    },
)
NAMES = st.sampled_from(["web", "db"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), NAMES, SPECS),
        st.tuples(st.just("delete"), NAMES, st.none()),
        st.tuples(st.just("slice"), NAMES, st.tuples(PODS, st.sampled_from(["n1", "n2"]), st.booleans())),
    ),
    max_size=12,
)


@given(STEPS, st.booleans(), st.booleans())
@hypothesis_settings(max_examples=60, deadline=None)
def test_changes_lead_to_the_same_rules_as_everything_at_once(
    steps: list[tuple[str, str, Any]], classic: bool, masquerade_all: bool
) -> None:
    settings = Settings(classic=classic, masquerade_all=masquerade_all, cluster_cidrs=("10.244.0.0/16",))
    node = started(settings)
    for step in steps:
        _take(node, step)
        node.apply()
    fresh = Node(settings)
    fresh.tracker = node.tracker
    fresh.tracker.all_changed()
    fresh.synchronise()
    assert node.rules() == fresh.rules()
    node.restart()
    assert node.rules() == fresh.rules()


def _take(node: Node, step: tuple[str, str, Any]) -> None:
    verb, name, what = step
    match verb:
        case "put":
            node.put(service(name, {"web": "10.96.0.80", "db": "10.96.0.81"}[name], **what))
        case "delete":
            node.delete(name)
        case _:
            pods, where, ready = what
            entries = [endpoint(ip, where, ready=ready, serving=True, terminating=not ready) for ip in pods]
            node.slice(endpoint_slice(entries, name))
