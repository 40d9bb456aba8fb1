"""The official Python client's typed API works with the API server as with Kubernetes' own."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, utils, watch
from kubernetes.client.exceptions import ApiException

MANIFESTS = Path(__file__).parent / "kubectl" / "manifests"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


def service(name: str, **spec: Any) -> client.V1Service:
    whole = client.V1ServiceSpec(selector={"app": name}, ports=[client.V1ServicePort(port=80)], **spec)
    return client.V1Service(metadata=client.V1ObjectMeta(name=name, labels={"app": name}), spec=whole)


def template() -> client.V1PodTemplateSpec:
    container = client.V1Container(name="c", image="nginx")
    spec = client.V1PodSpec(containers=[container])
    return client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels={"app": "web"}), spec=spec)


# -- typed ---------------------------------------------------------------------------------------------


def test_a_service_lives_and_dies_through_the_typed_api(core: client.CoreV1Api, namespace: str) -> None:
    created = core.create_namespaced_service(namespace, service("web"))
    assert (created.spec.type, created.spec.session_affinity) == ("ClusterIP", "None")
    assert created.spec.cluster_ip == created.spec.cluster_ips[0]
    read = core.read_namespaced_service("web", namespace)
    assert read.to_dict() == created.to_dict()
    read.spec.type = "NodePort"
    replaced = core.replace_namespaced_service("web", namespace, read)
    assert 30000 <= replaced.spec.ports[0].node_port <= 32767
    assert replaced.spec.cluster_ip == created.spec.cluster_ip
    listed = core.list_namespaced_service(namespace, label_selector="app=web")
    assert [item.metadata.name for item in listed.items] == ["web"]
    deleted = core.delete_namespaced_service("web", namespace)
    assert deleted.metadata.uid == created.metadata.uid
    with pytest.raises(ApiException) as refused:
        core.read_namespaced_service("web", namespace)
    assert refused.value.status == 404


def test_a_refusal_tells_all_that_kubernetes_tells(core: client.CoreV1Api, namespace: str) -> None:
    core.create_namespaced_service(namespace, service("first", type="NodePort"))
    port = core.read_namespaced_service("first", namespace).spec.ports[0].node_port
    second = service("second", type="NodePort")
    second.spec.ports[0].node_port = port
    with pytest.raises(ApiException) as refused:
        core.create_namespaced_service(namespace, second)
    status = json.loads(refused.value.body)
    why = f"Invalid value: {port}: provided port is already allocated"
    assert (refused.value.status, refused.value.reason) == (422, "Unprocessable Entity")
    assert status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'Service "second" is invalid: spec.ports[0].nodePort: {why}',
        "reason": "Invalid",
        "details": {
            "name": "second",
            "kind": "Service",
            "causes": [{"reason": "FieldValueInvalid", "message": why, "field": "spec.ports[0].nodePort"}],
        },
        "code": 422,
    }


def test_a_stale_replacement_is_a_conflict(core: client.CoreV1Api, namespace: str) -> None:
    stale = core.create_namespaced_service(namespace, service("web"))
    core.patch_namespaced_service("web", namespace, {"metadata": {"labels": {"newer": "yes"}}})
    with pytest.raises(ApiException) as refused:
        core.replace_namespaced_service("web", namespace, stale)
    assert (refused.value.status, json.loads(refused.value.body)["reason"]) == (409, "Conflict")


def test_endpoints_and_slices_are_written_by_hand(api: client.ApiClient, namespace: str) -> None:
    subset = client.V1EndpointSubset(
        addresses=[client.V1EndpointAddress(ip="192.0.2.10")], ports=[client.CoreV1EndpointPort(port=5432)]
    )
    wanted = client.V1Endpoints(metadata=client.V1ObjectMeta(name="database"), subsets=[subset])
    made = client.CoreV1Api(api).create_namespaced_endpoints(namespace, wanted)
    assert made.subsets[0].ports[0].protocol == "TCP"
    piece = client.V1EndpointSlice(
        metadata=client.V1ObjectMeta(name="database-1", labels={"kubernetes.io/service-name": "database"}),
        address_type="IPv4",
        endpoints=[client.V1Endpoint(addresses=["192.0.2.10"])],
        ports=[client.DiscoveryV1EndpointPort(port=5432)],
    )
    discovery = client.DiscoveryV1Api(api)
    assert discovery.create_namespaced_endpoint_slice(namespace, piece).ports[0].name == ""
    found = discovery.list_namespaced_endpoint_slice(
        namespace, label_selector="kubernetes.io/service-name=database"
    )
    assert [item.endpoints[0].addresses for item in found.items] == [["192.0.2.10"]]


def test_a_deployment_is_scaled_and_its_status_written_apart(api: client.ApiClient, namespace: str) -> None:
    apps = client.AppsV1Api(api)
    selector = client.V1LabelSelector(match_labels={"app": "web"})
    spec = client.V1DeploymentSpec(selector=selector, template=template())
    wanted = client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    made = apps.create_namespaced_deployment(namespace, wanted)
    assert (made.spec.replicas, made.spec.strategy.type, made.metadata.generation) == (1, "RollingUpdate", 1)
    scale = apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 3}})
    assert (scale.kind, scale.spec.replicas, scale.status.selector) == ("Scale", 3, "app=web")
    status = {"status": {"replicas": 3, "observedGeneration": 2}, "spec": {"replicas": 9}}
    after = apps.patch_namespaced_deployment_status("web", namespace, status)
    assert (after.status.replicas, after.spec.replicas, after.metadata.generation) == (3, 3, 2)


def test_ingresses_leases_roles_and_budgets_are_kept(api: client.ApiClient, namespace: str) -> None:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    ingress = {"metadata": {"name": "web"}, "spec": {"rules": [{"host": "a.b", "http": {"paths": [path]}}]}}
    networking = client.NetworkingV1Api(api)
    assert networking.create_namespaced_ingress(namespace, ingress).spec.rules[0].host == "a.b"
    lease = {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}
    assert (
        client.CoordinationV1Api(api).create_namespaced_lease(namespace, lease).spec.holder_identity == "me"
    )
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    role = client.RbacAuthorizationV1Api(api).create_namespaced_role(
        namespace, {"metadata": {"name": "reader"}, "rules": rules}
    )
    assert role.rules[0].resources == ["pods"]
    budget = {
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
    }
    assert client.PolicyV1Api(api).create_namespaced_pod_disruption_budget(namespace, budget).metadata.uid


@pytest.mark.parametrize(
    ("media", "patch", "expected"),
    [
        (MERGE, {"spec": {"ports": [{"port": 81}]}}, [81]),
        (STRATEGIC, {"spec": {"ports": [{"port": 81, "name": "b"}]}}, [81, 80]),
        (JSON_PATCH, [{"op": "replace", "path": "/spec/ports/0/port", "value": 81}], [81]),
    ],
)
def test_each_kind_of_patch_does_what_it_should(
    core: client.CoreV1Api, namespace: str, media: str, patch: Any, expected: list[int]
) -> None:
    wanted = service("web")
    wanted.spec.ports[0].name = "a"
    core.create_namespaced_service(namespace, wanted)
    patched = core.patch_namespaced_service("web", namespace, patch, _content_type=media)
    assert [port.port for port in patched.spec.ports] == expected


def test_a_dry_run_answers_as_if_but_changes_nothing(core: client.CoreV1Api, namespace: str) -> None:
    answered = core.create_namespaced_service(namespace, service("web"), dry_run="All")
    assert answered.metadata.uid
    assert core.list_namespaced_service(namespace).items == []


def test_a_long_list_comes_in_pages_without_gaps_or_repetitions(
    core: client.CoreV1Api, namespace: str
) -> None:
    for number in range(25):
        core.create_namespaced_config_map(namespace, {"metadata": {"name": f"cm-{number:02}"}})
    names: list[str] = []
    token = None
    while token is None or token:
        page = core.list_namespaced_config_map(namespace, limit=10, _continue=token)
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue or ""
    assert names == [f"cm-{number:02}" for number in range(25)]


def test_a_watch_tells_of_every_change_in_order(core: client.CoreV1Api, namespace: str) -> None:
    start = core.list_namespaced_service(namespace).metadata.resource_version

    def live() -> None:
        core.create_namespaced_service(namespace, service("web"))
        core.patch_namespaced_service("web", namespace, {"spec": {"type": "NodePort"}})
        core.delete_namespaced_service("web", namespace)

    threading.Thread(target=live).start()
    watcher = watch.Watch()
    seen = []
    stream = watcher.stream(
        core.list_namespaced_service, namespace, resource_version=start, timeout_seconds=10
    )
    for event in stream:
        seen.append((event["type"], event["object"].metadata.name, event["object"].spec.type))
        if len(seen) == 3:
            watcher.stop()
    assert seen == [
        ("ADDED", "web", "ClusterIP"),
        ("MODIFIED", "web", "NodePort"),
        ("DELETED", "web", "NodePort"),
    ]


def test_a_watch_ends_when_its_time_is_up(core: client.CoreV1Api, namespace: str) -> None:
    start = core.list_namespaced_service(namespace).metadata.resource_version
    stream = watch.Watch().stream(
        core.list_namespaced_service, namespace, resource_version=start, timeout_seconds=1
    )
    assert list(stream) == []


def test_manifests_are_created_from_a_file(
    api: client.ApiClient, core: client.CoreV1Api, namespace: str
) -> None:
    utils.create_from_yaml(api, str(MANIFESTS / "web.yaml"), namespace=namespace)
    assert core.read_namespaced_service("web", namespace).spec.cluster_ip == "10.96.0.20"
    assert client.AppsV1Api(api).read_namespaced_deployment("web", namespace).spec.replicas == 2


def test_the_server_says_what_it_is(api: client.ApiClient) -> None:
    version = client.VersionApi(api).get_code()
    assert (version.major, version.minor) == ("1", "37")
    groups = {group.name for group in client.ApisApi(api).get_api_versions().groups}
    assert groups >= {"apps", "discovery.k8s.io", "networking.k8s.io", "coordination.k8s.io", "policy"}


def test_a_client_learns_who_it_is_and_what_it_may_do(api: client.ApiClient) -> None:
    review = client.AuthenticationV1Api(api).create_self_subject_review(client.V1SelfSubjectReview())
    assert review.status.user_info.username == "kubernetes-admin"
    attributes = client.V1ResourceAttributes(verb="create", resource="services")
    spec = client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)
    wanted = client.V1SelfSubjectAccessReview(spec=spec)
    assert client.AuthorizationV1Api(api).create_self_subject_access_review(wanted).status.allowed
