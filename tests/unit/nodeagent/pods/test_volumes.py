from pathlib import Path
from typing import Any

import pytest

from fairway.nodeagent.objects import ConfigMap, Pod, Secret, TokenSource
from fairway.nodeagent.pods.downward import ConfigError, Facts
from fairway.nodeagent.pods.environment import References
from fairway.nodeagent.pods.volumes import VolumeFile, container_binds, named_objects, volume_files
from fairway.nodeagent.runtime.spec import Bind
from tests.unit.nodeagent.objects import make_pod

FOLDER, RUN = Path("/pods/uid"), Path("/pods/uid/containers/main/0")
REFERENCES = References(
    {"cm": ConfigMap(data={"b": "2", "a": "1"}, binary_data={"c": b"\0"})}, {"s": Secret(data={"k": b"v"})}
)


def files(volume: dict[str, Any], pod: Pod | None = None) -> list[VolumeFile] | None:
    pod = make_pod(volumes=[{"name": "v", **volume}]) if pod is None else pod
    assert pod.spec.volumes
    tokens = {TokenSource(path="token"): "secret-token"}
    return volume_files(pod, pod.spec.volumes[0], REFERENCES, Facts("10.244.1.2"), tokens)


def test_a_config_map_is_a_file_a_key() -> None:
    assert files({"configMap": {"name": "cm", "defaultMode": 0o400}}) == [
        VolumeFile("a", b"1", 0o400),
        VolumeFile("b", b"2", 0o400),
        VolumeFile("c", b"\0", 0o400),
    ]


def test_items_choose_keys_and_name_their_files() -> None:
    items = [{"key": "a", "path": "deep/name", "mode": 0o600}]
    assert files({"configMap": {"name": "cm", "items": items}}) == [VolumeFile("deep/name", b"1", 0o600)]
    with pytest.raises(ConfigError, match="non-existent key: nope"):
        files({"configMap": {"name": "cm", "items": [{"key": "nope", "path": "x"}]}})


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../b"])
def test_no_file_leaves_its_volume(path: str) -> None:
    with pytest.raises(ConfigError, match="leads out of its volume"):
        files({"configMap": {"name": "cm", "items": [{"key": "a", "path": path}]}})


def test_a_missing_secret_is_named_unless_optional() -> None:
    with pytest.raises(ConfigError, match='secret "nope" not found'):
        files({"secret": {"secretName": "nope"}})
    assert files({"secret": {"secretName": "nope", "optional": True}}) == []


def test_a_projected_volume_holds_all_its_sources() -> None:
    sources = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "cm", "items": [{"key": "a", "path": "ca.crt"}]}},
        {"secret": {"name": "s"}},
        {"downwardAPI": {"items": [{"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
    found = files({"projected": {"sources": sources}})
    assert [(file.path, file.content) for file in found or ()] == [
        ("token", b"secret-token"),
        ("ca.crt", b"1"),
        ("k", b"v"),
        ("ns", b"default"),
    ]


def test_an_empty_dir_is_not_ours_to_fill() -> None:
    assert files({"emptyDir": {}}) is None


def binds_of(mounts: list[dict[str, Any]], volumes: list[dict[str, Any]]) -> dict[str, Bind]:
    pod = make_pod(containers=[{"name": "main", "image": "x", "volumeMounts": mounts}], volumes=volumes)
    found = container_binds(pod, pod.spec.containers[0], FOLDER, RUN, {"POD": "web-1"})
    return {bind.target: bind for bind in found}


def test_every_container_sees_the_pods_own_files() -> None:
    found = binds_of([], [])
    assert found["/etc/hosts"] == Bind("/pods/uid/etc/hosts", "/etc/hosts")
    assert found["/etc/resolv.conf"].source == "/pods/uid/etc/resolv.conf"
    assert found["/dev/termination-log"].source == str(RUN / "termination-message")


def test_a_volume_takes_the_place_of_a_file_of_the_pod() -> None:
    mounts = [{"name": "v", "mountPath": "/etc/hosts", "subPath": "hosts"}]
    assert (
        binds_of(mounts, [{"name": "v", "emptyDir": {}}])["/etc/hosts"].source == "/pods/uid/volumes/v/hosts"
    )


def test_volumes_that_we_fill_are_read_only_for_containers() -> None:
    mounts = [{"name": "c", "mountPath": "/c"}, {"name": "e", "mountPath": "/e"}]
    found = binds_of(mounts, [{"name": "c", "configMap": {"name": "cm"}}, {"name": "e", "emptyDir": {}}])
    assert (found["/c"].read_only, found["/e"].read_only) == (True, False)


def test_a_sub_path_may_hold_variables_but_never_leads_out() -> None:
    volumes = [{"name": "v", "emptyDir": {}}]
    found = binds_of([{"name": "v", "mountPath": "/x", "subPathExpr": "$(POD)/logs"}], volumes)
    assert found["/x"].source == "/pods/uid/volumes/v/web-1/logs"
    with pytest.raises(ConfigError, match="leads out"):
        binds_of([{"name": "v", "mountPath": "/x", "subPath": "../../other"}], volumes)


def test_everything_the_volumes_name_is_known_beforehand() -> None:
    volumes = [
        {"name": "a", "configMap": {"name": "cm"}},
        {"name": "b", "projected": {"sources": [{"secret": {"name": "s"}}]}},
    ]
    assert named_objects(make_pod(volumes=volumes)) == ({"cm"}, {"s"})
