from typing import Any

import pytest

from fairway.images.model import ImageConfig
from fairway.nodeagent.objects import Pod
from fairway.nodeagent.pods.container import (
    Surroundings,
    command_line,
    container_spec,
    image_user,
    limits,
    user,
)
from fairway.nodeagent.pods.downward import ConfigError
from fairway.nodeagent.runtime.capabilities import DEFAULT, from_mask, granted
from fairway.nodeagent.runtime.spec import Bind, Limits, User, render
from tests.unit.nodeagent.objects import make_pod

IMAGE = ImageConfig(entrypoint=["/entry"], cmd=["serve"], env=["PATH=/bin", "A=image"], working_dir="/srv")
ALL = from_mask((1 << 41) - 1)


def pod_with(pod: dict[str, Any] | None = None, **container: Any) -> Pod:
    return make_pod(containers=[{"name": "main", "image": "busybox", **container}], **(pod or {}))


def rendered(pod: Pod, env: dict[str, str] | None = None, image: ImageConfig = IMAGE) -> dict[str, Any]:
    around = Surroundings(
        rootfs="/run/rootfs",
        cgroup="/fairway/x",
        network_namespace="" if pod.spec.host_network else "/var/run/netns/fairway-pod-x",
        binds=(Bind("/host/etc/hosts", "/etc/hosts"),),
        image_user=User(),
        available_capabilities=ALL,
    )
    return render(container_spec(pod, pod.spec.containers[0], image, env or {}, around))


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ({}, ("/entry", "serve")),
        ({"args": ["other"]}, ("/entry", "other")),
        ({"command": ["/mine"]}, ("/mine",)),
        ({"command": ["/mine"], "args": ["x"]}, ("/mine", "x")),
        ({"command": ["echo"], "args": ["$(A)", "$$(A)", "$(B)"]}, ("echo", "1", "$(A)", "$(B)")),
    ],
)
def test_command_and_args_replace_the_images_as_kubernetes_has_it(
    container: dict[str, Any], words: tuple[str, ...]
) -> None:
    assert command_line(pod_with(**container).spec.containers[0], IMAGE, {"A": "1"}) == words


def test_without_any_command_the_container_can_not_start() -> None:
    with pytest.raises(ConfigError, match="no command specified"):
        command_line(pod_with().spec.containers[0], ImageConfig(), {})


def test_the_pods_environment_beats_the_images() -> None:
    env = rendered(pod_with(), {"A": "pod"})["process"]["env"]
    assert "A=pod" in env
    assert "PATH=/bin" in env
    assert "HOSTNAME=web-1" in env


def test_a_container_joins_the_pods_network_and_has_its_own_of_the_rest() -> None:
    config = rendered(pod_with())
    kinds = {entry["type"]: entry.get("path") for entry in config["linux"]["namespaces"]}
    assert kinds == {
        "mount": None,
        "pid": None,
        "ipc": None,
        "uts": None,
        "network": "/var/run/netns/fairway-pod-x",
    }
    assert config["hostname"] == "web-1"


def test_a_pod_in_the_nodes_network_has_the_nodes_name_too() -> None:
    config = rendered(pod_with({"hostNetwork": True}))
    kinds = {entry["type"] for entry in config["linux"]["namespaces"]}
    assert not kinds & {"network", "uts"}
    assert "hostname" not in config


def test_bind_mounts_come_after_the_system_mounts_they_lie_in() -> None:
    targets = [mount["destination"] for mount in rendered(pod_with())["mounts"]]
    assert targets[-1] == "/etc/hosts"
    assert targets.index("/dev") < targets.index("/dev/shm")


def test_dangerous_paths_are_masked_unless_the_container_is_privileged() -> None:
    assert "/proc/kcore" in rendered(pod_with())["linux"]["maskedPaths"]
    assert rendered(pod_with())["linux"]["resources"]["devices"] == [{"allow": False, "access": "rwm"}]
    privileged = rendered(pod_with(securityContext={"privileged": True}))
    assert "maskedPaths" not in privileged["linux"]
    assert set(privileged["process"]["capabilities"]["bounding"]) == ALL


def test_capabilities_are_dockers_with_what_is_added_and_dropped() -> None:
    assert set(granted((), (), False, ALL)) == DEFAULT
    assert set(granted(["NET_ADMIN"], ["ALL"], False, ALL)) == {"CAP_NET_ADMIN"}
    assert "CAP_NET_RAW" not in granted((), ["net_raw"], False, ALL)
    assert set(granted(["ALL"], ["CAP_SYS_ADMIN"], False, ALL)) == ALL - {"CAP_SYS_ADMIN"}


def test_no_capability_is_granted_that_we_do_not_have() -> None:
    assert granted(["SYS_RESOURCE"], (), True, frozenset({"CAP_CHOWN"})) == ("CAP_CHOWN",)


def test_no_capability_is_inheritable_or_ambient() -> None:
    assert set(rendered(pod_with())["process"]["capabilities"]) == {"bounding", "effective", "permitted"}


def test_new_privileges_are_refused_only_where_the_pod_says_so() -> None:
    assert rendered(pod_with())["process"]["noNewPrivileges"] is False
    strict = pod_with(securityContext={"allowPrivilegeEscalation": False})
    assert rendered(strict)["process"]["noNewPrivileges"] is True


def test_the_containers_user_beats_the_pods_which_beats_the_images() -> None:
    shared = {"securityContext": {"runAsUser": 5, "runAsGroup": 6, "fsGroup": 7, "supplementalGroups": [8]}}
    pod = pod_with(shared, securityContext={"runAsUser": 9})
    assert user(pod, pod.spec.containers[0], User(1, 2, (3,))) == User(9, 6, (3, 8, 7))
    plain = pod_with()
    assert user(plain, plain.spec.containers[0], User(1, 2, (3,))) == User(1, 2, (3,))


def test_root_is_refused_where_the_pod_forbids_it() -> None:
    pod = pod_with({"securityContext": {"runAsNonRoot": True}})
    with pytest.raises(ConfigError, match="runAsNonRoot"):
        user(pod, pod.spec.containers[0], User())


PASSWD = "root:x:0:0::/root:/bin/sh\nweb:x:101:102::/:/bin/false\n"
GROUP = "root:x:0:\nweb:x:102:\nlogs:x:104:web,other\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", User()),
        ("1000", User(1000, 0)),
        ("101", User(101, 102, (104,))),
        ("web", User(101, 102, (104,))),
        ("web:logs", User(101, 104)),
        ("5:6", User(5, 6)),
    ],
)
def test_an_images_user_is_looked_up_in_the_images_own_files(text: str, expected: User) -> None:
    assert image_user(text, PASSWD, GROUP) == expected


def test_an_unknown_user_of_an_image_is_named() -> None:
    with pytest.raises(ConfigError, match="unable to find user nobody"):
        image_user("nobody", PASSWD, GROUP)


def test_limits_and_requests_become_memory_quota_and_shares() -> None:
    resources = {"limits": {"cpu": "500m", "memory": "64Mi"}, "requests": {"cpu": "250m"}}
    container = pod_with(resources=resources).spec.containers[0]
    assert limits(container) == Limits(memory_bytes=64 << 20, cpu_millis=500, cpu_shares=256)
    config = rendered(pod_with(resources=resources))["linux"]["resources"]
    assert config["memory"] == {"limit": 64 << 20}
    assert config["cpu"] == {"shares": 256, "period": 100000, "quota": 50000}
