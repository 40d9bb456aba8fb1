from datetime import UTC, datetime
from pathlib import Path

from fairway.nodeagent.config import Config
from fairway.nodeagent.node.registration import Machine, conditions, lease, node_object, node_status

MACHINE = Machine(2, 4 << 30, 10 << 30, "amd64", "6.18", "Debian", "machine", "boot", "runc://1.1.5")
CONFIG = Config(Path("k"), "node-1", Path("d"), "10.244.1.0/24", "172.30.96.11")
NOW = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_a_node_says_its_labels_range_and_addresses() -> None:
    node = node_object(CONFIG, MACHINE)
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "node-1"
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "linux"
    assert node["metadata"]["labels"]["kubernetes.io/arch"] == "amd64"
    assert node["spec"]["podCIDR"] == "10.244.1.0/24"
    status = node_status(CONFIG, MACHINE)
    assert {a["type"]: a["address"] for a in status["addresses"]} == {
        "InternalIP": "172.30.96.11",
        "Hostname": "node-1",
    }
    assert status["capacity"]["memory"] == "4194304Ki"


def test_the_agents_port_is_published_only_if_it_serves() -> None:
    assert node_status(CONFIG, MACHINE)["daemonEndpoints"] == {}
    files = {"tls_certificate": Path("c"), "tls_key": Path("k"), "client_ca": Path("a")}
    serving = Config(Path("k"), "node-1", Path("d"), "10.244.1.0/24", "172.30.96.11", port=1234, **files)
    assert node_status(serving, MACHINE)["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 1234}}


def test_a_condition_keeps_the_time_since_when_it_holds() -> None:
    before = [{"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]
    found = {c["type"]: c for c in conditions(before, NOW)}
    assert found["Ready"]["lastTransitionTime"] == "2020-01-01T00:00:00Z"
    assert found["Ready"]["lastHeartbeatTime"] == "2023-11-14T22:13:20Z"
    was_lost = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": "2020-01-01T00:00:00Z"}]
    again = {c["type"]: c for c in conditions(was_lost, NOW)}
    assert again["Ready"]["lastTransitionTime"] == "2023-11-14T22:13:20Z"


def test_a_lease_belongs_to_its_node_and_has_microseconds() -> None:
    found = lease("node-1", "uid-1", NOW)
    assert found["metadata"]["ownerReferences"][0]["uid"] == "uid-1"
    assert found["spec"]["renewTime"] == "2023-11-14T22:13:20.000000Z"
    assert found["spec"]["leaseDurationSeconds"] == 40
