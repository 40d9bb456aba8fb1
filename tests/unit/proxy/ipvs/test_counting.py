"""Connections and bytes by Service from what virtual servers have seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairway.kernel.ipvs import Balancing, Order, Passed, ServerName, Verb
from tests.unit.proxy.ipvs.node import OWN, WEB, Node
from tests.unit.proxy.objects import endpoint_slice, service


def counting_node(*pods: str, **spec: Any) -> Node:
    node = Node()
    node.kernel = replace(node.kernel, counting=node.ipvs)
    node.start()
    change(node, *pods, **spec)
    return node


def change(node: Node, *pods: str, **spec: Any) -> None:
    node.tracker.service_changed("default/web", None, service(**spec))
    node.tracker.slice_changed("default/web-1", None, endpoint_slice(pods))
    node.apply()


def counted(node: Node) -> dict[str, float]:
    return {dict(f.labels).get("direction", "connections"): f.value for f in node.applier.count_services()()}


def test_all_servers_of_a_service_add_up() -> None:
    node = counting_node("10.244.0.1", type="NodePort", nodePort=30061)
    assert counted(node) == {}
    node.ipvs.carry(WEB, Passed(3, 1000, 20))
    node.ipvs.carry(ServerName(4, "tcp", OWN, 30061), Passed(1, 500, 10))
    assert counted(node) == {"connections": 4, "in": 1500, "out": 30}
    assert counted(node) == {"connections": 4, "in": 1500, "out": 30}


def test_connections_from_inside_that_pass_policy_local_by_a_mark_are_the_services_too() -> None:
    node = counting_node("10.244.0.1", type="NodePort", nodePort=30061, externalTrafficPolicy="Local")
    marked = next(name for name in node.ipvs.names() if name.mark)
    node.ipvs.carry(marked, Passed(2, 10, 20))
    assert counted(node) == {"connections": 2, "in": 10, "out": 20}


def test_a_server_that_is_made_anew_begins_at_nought_and_the_total_goes_on() -> None:
    node = counting_node("10.244.0.1")
    node.ipvs.carry(WEB, Passed(3, 1000, 20))
    assert counted(node)["connections"] == 3
    change(node)
    change(node, "10.244.0.2")
    assert counted(node) == {"connections": 3, "in": 1000, "out": 20}
    node.ipvs.carry(WEB, Passed(2, 10, 10))
    assert counted(node) == {"connections": 5, "in": 1010, "out": 30}


def test_servers_of_others_are_left_out() -> None:
    node = counting_node("10.244.0.1")
    foreign = ServerName(4, "tcp", "192.0.2.77", 80)
    node.ipvs.change([Order(Verb.ADD_SERVER, foreign, Balancing("rr"))])
    node.ipvs.carry(foreign, Passed(9, 9, 9))
    assert counted(node) == {}
    node.ipvs.carry(WEB, Passed(1, 2, 3))
    assert counted(node) == {"connections": 1, "in": 2, "out": 3}
