import pytest

from fairway.nodeagent.objects import ConfigMap, Pod, Secret
from fairway.nodeagent.pods.downward import ConfigError, Facts
from fairway.nodeagent.pods.environment import (
    References,
    container_environment,
    named_objects,
    service_environment,
)
from tests.unit.nodeagent.objects import make_pod, make_service

FACTS = Facts("10.244.1.7", "172.30.96.11", "node-1", (("cpu", "2"), ("memory", "4096Ki")))
API = make_service("kubernetes", "10.96.0.1", {"port": 443, "name": "https"})


def env_of(pod: Pod, references: References | None = None, **services: str) -> dict[str, str]:
    return container_environment(pod, pod.spec.containers[0], FACTS, references or References(), services)


def pod_with(*env: dict[str, object], **container: object) -> Pod:
    return make_pod(containers=[{"name": "main", "image": "busybox", "env": list(env), **container}])


def test_redis_master_has_exactly_its_seven_variables() -> None:
    services = [make_service("redis-master", "10.96.0.11", {"port": 6379})]
    assert service_environment(services, "default") == {
        "REDIS_MASTER_SERVICE_HOST": "10.96.0.11",
        "REDIS_MASTER_SERVICE_PORT": "6379",
        "REDIS_MASTER_PORT": "tcp://10.96.0.11:6379",
        "REDIS_MASTER_PORT_6379_TCP": "tcp://10.96.0.11:6379",
        "REDIS_MASTER_PORT_6379_TCP_PROTO": "tcp",
        "REDIS_MASTER_PORT_6379_TCP_PORT": "6379",
        "REDIS_MASTER_PORT_6379_TCP_ADDR": "10.96.0.11",
    }


def test_named_ports_get_a_variable_each_and_the_first_port_is_the_default() -> None:
    ports = {"port": 80, "name": "web-ui"}, {"port": 53, "name": "dns", "protocol": "UDP"}
    found = service_environment([make_service("app", "10.96.0.12", *ports)], "default")
    assert found["APP_SERVICE_PORT"] == found["APP_SERVICE_PORT_WEB_UI"] == "80"
    assert found["APP_SERVICE_PORT_DNS"] == "53"
    assert found["APP_PORT"] == "tcp://10.96.0.12:80"
    assert found["APP_PORT_53_UDP"] == "udp://10.96.0.12:53"
    assert found["APP_PORT_53_UDP_PROTO"] == "udp"


def test_services_of_other_namespaces_and_headless_ones_are_left_out() -> None:
    services = [
        make_service("theirs", "10.96.0.13", {"port": 80}, namespace="other"),
        make_service("headless", "None", {"port": 80}),
        make_service("external", "", {"port": 80}),
    ]
    assert service_environment(services, "default") == {}


def test_the_api_service_is_seen_from_every_namespace_even_without_links() -> None:
    found = service_environment(
        [API, make_service("web", "10.96.0.14", {"port": 80})], "default", links=False
    )
    assert found["KUBERNETES_SERVICE_HOST"] == "10.96.0.1"
    assert not [name for name in found if name.startswith("WEB_")]
    assert service_environment([API], "other")["KUBERNETES_SERVICE_PORT_HTTPS"] == "443"


def test_an_ipv6_address_stands_in_brackets_in_urls() -> None:
    found = service_environment([make_service("six", "fd00:96::5", {"port": 80})], "default")
    assert found["SIX_PORT"] == "tcp://[fd00:96::5]:80"
    assert found["SIX_PORT_80_TCP_ADDR"] == "fd00:96::5"


def test_env_may_refer_to_services_and_to_earlier_entries_only() -> None:
    pod = pod_with(
        {"name": "LATE", "value": "$(EARLY)"},
        {"name": "EARLY", "value": "$(DB_SERVICE_HOST)"},
        {"name": "BOTH", "value": "$(EARLY)!"},
    )
    found = env_of(pod, DB_SERVICE_HOST="10.96.0.9")
    assert (found["LATE"], found["EARLY"], found["BOTH"]) == ("$(EARLY)", "10.96.0.9", "10.96.0.9!")


def test_env_beats_env_from_which_beats_services() -> None:
    pod = pod_with({"name": "A", "value": "env"}, envFrom=[{"prefix": "", "configMapRef": {"name": "cm"}}])
    config_map = ConfigMap(data={"A": "cm", "B": "cm"})
    found = env_of(pod, References({"cm": config_map}), A="service", B="service", C="service")
    assert (found["A"], found["B"], found["C"]) == ("env", "cm", "service")


def test_fields_of_the_pod_and_of_the_node_can_be_referred_to() -> None:
    paths = {
        "NAME": "metadata.name",
        "IP": "status.podIP",
        "NODE": "spec.nodeName",
        "HOST": "status.hostIP",
        "APP": "metadata.labels['app.kubernetes.io/name']",
    }
    entries = [{"name": n, "valueFrom": {"fieldRef": {"fieldPath": p}}} for n, p in paths.items()]
    pod = make_pod(
        metadata={"labels": {"app.kubernetes.io/name": "shop"}},
        containers=[{"name": "main", "image": "busybox", "env": entries}],
    )
    found = env_of(pod)
    assert [found[name] for name in paths] == ["web-1", "10.244.1.7", "node-1", "172.30.96.11", "shop"]


def test_resource_fields_count_in_their_divisor_and_fall_back_to_the_node() -> None:
    def entry(name: str, resource: str, divisor: str) -> dict[str, object]:
        return {
            "name": name,
            "valueFrom": {"resourceFieldRef": {"resource": resource, "divisor": divisor}},
        }

    pod = pod_with(
        entry("CPU", "limits.cpu", "1m"),
        entry("CORES", "limits.cpu", "1"),
        entry("MEMORY", "limits.memory", "1Ki"),
        resources={"limits": {"cpu": "250m"}},
    )
    found = env_of(pod)
    assert (found["CPU"], found["CORES"], found["MEMORY"]) == ("250", "1", "4096")


def test_a_missing_key_or_object_is_named_unless_it_is_optional() -> None:
    def entry(name: str, **more: object) -> dict[str, object]:
        return {"name": "X", "valueFrom": {name: {"name": "conf", "key": "k", **more}}}

    with pytest.raises(ConfigError, match='configmap "conf" not found'):
        env_of(pod_with(entry("configMapKeyRef")))
    with pytest.raises(ConfigError, match="couldn't find key k in ConfigMap default/conf"):
        env_of(pod_with(entry("configMapKeyRef")), References({"conf": ConfigMap(data={})}))
    with pytest.raises(ConfigError, match='secret "conf" not found'):
        env_of(pod_with(entry("secretKeyRef")))
    assert "X" not in env_of(pod_with(entry("secretKeyRef", optional=True)))


def test_secrets_arrive_decoded() -> None:
    pod = pod_with({"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}})
    assert env_of(pod, References(secrets={"s": Secret(data={"k": b"hush"})}))["X"] == "hush"


def test_everything_the_environment_names_is_known_beforehand() -> None:
    pod = pod_with(
        {"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        envFrom=[{"configMapRef": {"name": "cm"}}],
    )
    assert named_objects(pod) == ({"cm"}, {"s"})
