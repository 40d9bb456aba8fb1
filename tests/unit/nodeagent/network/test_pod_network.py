from ipaddress import IPv4Network
from pathlib import Path

from fairway.nodeagent.network.pod_network import PodNetwork, PodNetworks, save

RANGE = IPv4Network("10.244.1.0/24")


def test_a_restarted_agent_gives_no_new_pod_the_address_of_a_running_one(tmp_path: Path) -> None:
    (tmp_path / "old-uid").mkdir()
    save(tmp_path / "old-uid", PodNetwork("old-uid", "10.244.1.2", "fairway-pod-old", "fw-old"))
    networks = PodNetworks(RANGE)
    networks.remember(tmp_path)
    assert str(networks.pool.take("new-uid")) == "10.244.1.3"
    assert str(networks.pool.take("old-uid")) == "10.244.1.2"


def test_an_agent_that_starts_for_the_first_time_remembers_nothing(tmp_path: Path) -> None:
    networks = PodNetworks(RANGE)
    networks.remember(tmp_path / "none")
    assert str(networks.pool.take("uid")) == "10.244.1.2"
