"""Rules about volumes that the recordings don't cover."""

from __future__ import annotations

from typing import Any

import pytest

from .manifests import messages, pod

V = "spec.volumes[0]"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"hostPath": {"path": ""}}, [f"{V}.hostPath.path: Required value"]),
        (
            {"hostPath": {"path": "/a/../b"}},
            [f"{V}.hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"],
        ),
        ({"configMap": {"name": ""}}, [f"{V}.configMap.name: Required value"]),
        ({"secret": {}}, [f"{V}.secret.secretName: Required value"]),
        (
            {"configMap": {"name": "a", "defaultMode": 1000}},
            [
                f"{V}.configMap.defaultMode: Invalid value: 1000: must be a number between 0 and 0777 "
                "(octal), "
                "both inclusive"
            ],
        ),
        (
            {"secret": {"secretName": "a", "items": [{"key": "k", "path": "..a"}]}},
            [f"{V}.secret.items[0].path: Invalid value: \"..a\": must not start with '..'"],
        ),
        (
            {"emptyDir": {"sizeLimit": "-1"}},
            [f"{V}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
        ),
        ({"persistentVolumeClaim": {}}, [f"{V}.persistentVolumeClaim.claimName: Required value"]),
        ({"ephemeral": {}}, [f"{V}.ephemeral.volumeClaimTemplate: Required value"]),
        (
            {"nfs": {"path": "a"}},
            [
                f"{V}.nfs.server: Required value",
                f'{V}.nfs.path: Invalid value: "a": must be an absolute path',
            ],
        ),
        ({"image": {}}, [f"{V}.image.reference: Required value"]),
        (
            {"downwardAPI": {"items": [{"path": "x", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
            [f"{V}.downwardAPI.resourceFieldRef.containerName: Required value"],
        ),
        (
            {"fc": {"lun": 1}},
            [f"{V}.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"],
        ),
        (
            {"fc": {"targetWWNs": ["a"]}},
            [f"{V}.fc.lun: Required value: lun is required if targetWWNs is specified"],
        ),
        ({"fc": {"targetWWNs": ["a"], "lun": 0}}, []),
    ],
)
def test_a_fault_in_a_source_is_named(source: dict[str, Any], expected: list[str]) -> None:
    assert messages(pod(volumes=[{"name": "v", **source}])) == expected


def test_a_projection_has_one_source_and_paths_of_its_own() -> None:
    sources = [
        {"secret": {"name": "a"}, "configMap": {"name": "b"}},
        {"serviceAccountToken": {"path": "t", "expirationSeconds": 10}},
    ]
    made = pod(serviceAccountName="x", volumes=[{"name": "v", "projected": {"sources": sources}}])
    assert messages(made) == [
        f"{V}.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source",
        f"{V}.projected.sources[1].serviceAccountToken.expirationSeconds: Invalid value: 10: may not "
        "specify a "
        "duration less than 10 minutes",
    ]
    items = [{"key": "k", "path": "p"}]
    sources = [{"configMap": {"name": "a", "items": items}}, {"secret": {"name": "b", "items": items}}]
    assert messages(pod(volumes=[{"name": "v", "projected": {"sources": sources}}])) == [
        f'{V}.projected: Invalid value: "b": conflicting duplicate paths'
    ]


def test_tokens_need_a_service_account() -> None:
    source = {"serviceAccountToken": {"path": "t"}}
    assert messages(pod(volumes=[{"name": "v", "projected": {"sources": [source]}}])) == [
        f"{V}.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when "
        "serviceAccountName is not set"
    ]
