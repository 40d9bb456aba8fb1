"""Bringing plans into a fake kernel: what is sent, what failures do, how others' changes are noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairway.kernel.conntrack import Flow
from fairway.kernel.iptables import IptablesError
from tests.unit.proxy.iptables.kernels import SETTINGS, Node
from tests.unit.proxy.objects import endpoint_slice, service

SVC = "KUBE-SVC-LOLE4ISW44XBNF3G"


@pytest.fixture
def node() -> Node:
    started = Node()
    started.put(service(type="NodePort", nodePort=30061))
    started.slice(endpoint_slice(["10.244.0.1"]))
    started.synchronise()
    return started


def someone(node: Node, text: str, version: int = 4) -> None:
    node.iptables.restore(version, text)


def test_no_change_sends_nothing_and_a_change_goes_to_its_family_only(node: Node) -> None:
    before = len(node.iptables.restored)
    node.put(service(type="NodePort", nodePort=30061))
    node.apply()
    assert len(node.iptables.restored) == before
    node.slice(endpoint_slice(["10.244.0.1", "10.244.0.2"]))
    node.apply()
    assert [version for version, _ in node.iptables.restored[before:]] == [4]


def test_after_a_failure_synchronising_brings_in_what_failed(node: Node) -> None:
    node.slice(endpoint_slice(["10.244.0.1", "10.244.0.2"]))
    node.iptables.fail_next = 1
    with pytest.raises(IptablesError):
        node.apply()
    assert len(node.chain(SVC)) == 2
    assert not node.applier.is_intact()
    node.applier.synchronise({})
    assert len(node.chain(SVC)) == 3
    assert node.applier.is_intact()


def test_a_flush_by_someone_else_is_noticed_and_made_good(node: Node) -> None:
    before = node.rules()
    node.iptables.flush(4)
    assert not node.applier.is_intact()
    node.applier.synchronise({})
    assert node.rules() == before
    assert node.applier.is_intact()


@pytest.mark.parametrize(
    "change",
    [
        f"*nat\n-I {SVC} -j RETURN\nCOMMIT\n",
        f"*nat\n:{SVC} - [0:0]\nCOMMIT\n",
        f"*nat\n:{SVC} - [0:0]\n-A {SVC} -j RETURN\n-A {SVC} -j RETURN\nCOMMIT\n",
        '*nat\n-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES\nCOMMIT\n',
        "*filter\n-D INPUT -j KUBE-FIREWALL\nCOMMIT\n",
        "*mangle\n-X KUBE-PROXY-CANARY\nCOMMIT\n",
    ],
)
def test_a_single_rule_that_someone_changes_is_noticed_and_put_back(node: Node, change: str) -> None:
    before = node.rules()
    someone(node, change)
    assert not node.applier.is_intact()
    node.applier.synchronise({})
    assert node.rules() == before


def test_rules_of_others_are_left_alone_and_looked_at_once(node: Node) -> None:
    someone(node, "*filter\n:MINE - [0:0]\n-I INPUT -j MINE\n-A MINE -j ACCEPT\nCOMMIT\n")
    assert node.applier.is_intact()
    before = node.chain("INPUT", "filter").copy()
    node.applier.synchronise({})
    assert node.chain("INPUT", "filter") == before
    assert node.chain("MINE", "filter") == ["-j ACCEPT"]


def test_everything_is_looked_at_only_a_small_part_of_the_time(node: Node) -> None:
    looks = 0
    save = node.iptables.save

    def slow_save(version: int) -> str:
        nonlocal looks
        looks += 1
        node.now += 0.5
        return save(version)

    node.iptables.save = slow_save  # type: ignore[method-assign]
    for _ in range(5):
        someone(node, "*filter\n-A INPUT -j ACCEPT\nCOMMIT\n")
        assert node.applier.is_intact()
        node.now += 1
    assert looks == 2
    node.now += 60
    node.iptables.flush(4)
    assert not node.applier.is_intact()


def test_an_iptables_of_other_wording_is_compared_by_numbers(node: Node) -> None:
    save = node.iptables.save
    node.iptables.save = lambda version: save(version).replace("-m tcp ", "")  # type: ignore[method-assign]
    node.restart()
    someone(node, "*filter\n-A INPUT -j ACCEPT\nCOMMIT\n")
    assert node.applier.is_intact()
    someone(node, f"*nat\n:{SVC} - [0:0]\nCOMMIT\n")
    assert not node.applier.is_intact()


def test_a_new_process_deletes_chains_of_services_that_went_while_nobody_watched(node: Node) -> None:
    node.delete("web")
    node.tracker.take()
    node.restart()
    left = [chain for chain in node.iptables.tables[4, "nat"] if chain[:9] in ("KUBE-SVC-", "KUBE-SEP-")]
    assert left == []


def test_hooks_in_another_form_are_replaced(node: Node) -> None:
    someone(node, "*filter\n-A FORWARD -j KUBE-SERVICES\nCOMMIT\n")
    assert not node.applier.is_intact()
    node.applier.synchronise({})
    assert "-j KUBE-SERVICES" not in node.chain("FORWARD", "filter")


def test_an_address_that_comes_to_a_node_port_range_is_noticed(node: Node) -> None:
    node.restart(replace(SETTINGS, nodeport_addresses=("192.0.2.0/24",)))
    assert node.applier.is_intact()
    node.addresses.add("192.0.2.77")
    assert not node.applier.is_intact()
    node.applier.synchronise({})
    assert sum("-j KUBE-NODEPORTS" in rule for rule in node.chain("KUBE-SERVICES")) == 2


def test_a_kernel_told_to_take_stray_segments_later_on_is_noticed(node: Node) -> None:
    node.sysctls["net/netfilter/nf_conntrack_tcp_be_liberal"] = "1"
    assert not node.applier.is_intact()
    node.applier.synchronise({})
    assert node.applier.is_intact()


def test_other_settings_take_effect_with_the_next_synchronisation(node: Node) -> None:
    node.applier.configure(replace(SETTINGS, masquerade_all=True))
    node.applier.synchronise({})
    assert node.chain(SVC)[0].startswith("-d 10.96.0.80/32 -p tcp")


def test_removing_leaves_what_others_have_made(node: Node) -> None:
    someone(node, "*filter\n:MINE - [0:0]\n-A INPUT -j MINE\nCOMMIT\n*nat\n:KUBE-HOSTPORTS - [0:0]\nCOMMIT\n")
    node.applier.remove()
    assert node.rules()[("filter", "INPUT")] == ["-j MINE"]
    names = {chain for _, table in node.iptables.tables.items() for chain in table if "KUBE" in chain}
    assert names == {"KUBE-HOSTPORTS"}


def test_removing_spares_chains_of_the_kubelet_and_those_that_others_jump_to(node: Node) -> None:
    someone(
        node,
        "*mangle\n:KUBE-KUBELET-CANARY - [0:0]\nCOMMIT\n"
        "*nat\n:MINE - [0:0]\n-A MINE -j KUBE-MARK-MASQ\nCOMMIT\n",
    )
    node.applier.remove()
    assert node.chain("INPUT", "filter") == ["-j KUBE-FIREWALL"]
    assert node.chain("KUBE-MARK-MASQ") == []
    assert "KUBE-SERVICES" not in node.iptables.tables[4, "nat"]
    node.restart()
    assert node.applier.is_intact()


def test_removing_where_nothing_is_asks_no_program(node: Node) -> None:
    node.applier.remove()
    before = len(node.iptables.restored)
    node.applier.remove()
    assert len(node.iptables.restored) == before


def flow(answering: str, address: str = "10.96.0.80", port: int = 80) -> Flow:
    return Flow("10.244.9.9", 5000, address, port, answering, 9376)


def test_udp_flows_to_an_endpoint_that_went_are_deleted(node: Node) -> None:
    node.put(service(protocol="UDP", type="NodePort", nodePort=30061))
    node.slice(endpoint_slice(["10.244.0.1", "10.244.0.2"], protocol="UDP"))
    node.apply()
    kept, gone = flow("10.244.0.2"), flow("10.244.0.1")
    by_port = flow("10.244.0.1", "192.0.2.1", 30061)
    node.conntrack.flows[4] = [kept, gone, by_port]
    node.slice(endpoint_slice(["10.244.0.2"], protocol="UDP"))
    node.apply()
    assert node.conntrack.flows[4] == [kept]
    node.delete("web")
    node.apply()
    assert node.conntrack.flows[4] == []
