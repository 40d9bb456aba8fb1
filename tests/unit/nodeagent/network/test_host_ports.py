from typing import Any

import pytest

from fairway.nodeagent.network.host_ports import (
    HostPort,
    changed_udp_ports,
    clashing,
    declarations,
    wanted_by,
)
from tests.unit.nodeagent.objects import make_pod


def port(number: int, protocol: str = "tcp", address: str = "", inside: int = 80) -> HostPort:
    return HostPort(number, protocol, inside, address)


def test_a_pod_says_which_ports_of_the_node_lead_to_it() -> None:
    container: dict[str, Any] = {
        "name": "main",
        "ports": [
            {"containerPort": 80, "hostPort": 8080},
            {"containerPort": 53, "hostPort": 53, "protocol": "UDP", "hostIP": "127.0.0.1"},
            {"containerPort": 81},
            {"containerPort": 82, "hostPort": 82, "hostIP": "0.0.0.0"},
        ],
    }
    wanted = (port(8080), port(53, "udp", "127.0.0.1", 53), port(82, inside=82))
    assert wanted_by(make_pod(containers=[container])) == wanted
    assert wanted_by(make_pod(containers=[container], hostNetwork=True)) == ()


@pytest.mark.parametrize(
    ("mine", "other", "clash"),
    [
        (port(80), port(80), True),
        (port(80), port(80, "udp"), False),
        (port(80), port(81), False),
        (port(80, address="10.0.0.1"), port(80), True),
        (port(80), port(80, address="10.0.0.1"), True),
        (port(80, address="10.0.0.1"), port(80, address="10.0.0.2"), False),
        (port(80, address="10.0.0.1"), port(80, address="10.0.0.1"), True),
    ],
)
def test_ports_clash_on_one_address_or_all(mine: HostPort, other: HostPort, clash: bool) -> None:
    assert bool(clashing([mine], [other])) is clash


def test_only_elements_grow_with_the_number_of_ports() -> None:
    one = declarations({"10.244.1.2": [port(8080)]}, "bridge")
    many = declarations({f"10.244.1.{n}": [port(8000 + n)] for n in range(2, 200)}, "bridge")
    assert "tcp . 8080 : 10.244.1.2 . 80" in one
    assert "10.244.1.2 . 10.244.1.2" in one
    assert one.count("\n") == many.count("\n")


def test_udp_ports_that_lead_elsewhere_now_are_known() -> None:
    before = {"10.244.1.2": (port(53, "udp"), port(80))}
    after = {"10.244.1.3": (port(53, "udp"),), "10.244.1.2": (port(54, "udp"),)}
    assert changed_udp_ports(before, after) == {53, 54}
    assert changed_udp_ports(before, before) == set()
