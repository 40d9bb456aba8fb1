"""Each kind's row, cell by cell."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fairway.api import resources as r
from fairway.api.resources import Resource
from fairway.api.tables import columns_of, row_cells

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CREATED = "2025-12-31T23:00:00Z"
AGE = "60m"
SCALE = Resource("autoscaling", "v1", "deployments/scale", "Scale")
TEMPLATE = {
    "spec": {"containers": [{"name": "c", "image": "nginx:1"}, {"name": "d", "image": "redis:7"}]},
}
SELECTOR = {"matchLabels": {"app": "a"}}


def service(kind: str = "ClusterIP", status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"spec": {"type": kind, "clusterIPs": ["10.96.0.7"], **spec}, "status": status or {}}


def balanced(*points: dict[str, str]) -> dict[str, Any]:
    return {"loadBalancer": {"ingress": list(points)}}


def subset(addresses: list[str], ports: list[int], not_ready: list[str] | None = None) -> dict[str, Any]:
    return {
        "addresses": [{"ip": address} for address in addresses],
        "notReadyAddresses": [{"ip": address} for address in not_ready or []],
        "ports": [{"port": port} for port in ports],
    }


def ingress(*hosts: str, **spec: Any) -> dict[str, Any]:
    return {"spec": {"rules": [{"host": host} if host else {} for host in hosts], **spec}}


def event(**fields: Any) -> dict[str, Any]:
    return {
        "type": "Warning",
        "reason": "BackOff",
        "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"},
        "source": {"component": "kubelet", "host": "n1"},
        "message": " back-off\n",
        "firstTimestamp": "2025-12-31T23:00:00Z",
        "lastTimestamp": "2025-12-31T23:55:00Z",
        "count": 3,
    } | fields


NODE_STATUS = {
    "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
    "addresses": [
        {"type": "Hostname", "address": "n1"},
        {"type": "InternalIP", "address": "172.30.96.11"},
        {"type": "InternalIP", "address": "fd00::11"},
        {"type": "ExternalIP", "address": "192.0.2.11"},
    ],
    "nodeInfo": {
        "kubeletVersion": "v1.37.0",
        "osImage": "Debian 12",
        "kernelVersion": "6.18",
        "containerRuntimeVersion": "runc://1.1",
    },
}
NODE_SOFTWARE = ["Debian 12", "6.18", "runc://1.1"]
OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "w", "controller": True}

CASES: list[tuple[str, Resource, dict[str, Any], list[Any]]] = [
    ("namespace", r.NAMESPACES, {"status": {"phase": "Active"}}, ["x", "Active", AGE]),
    ("config map", r.CONFIG_MAPS, {"data": {"a": "1"}, "binaryData": {"b": "Yg=="}}, ["x", 2, AGE]),
    ("config map with nothing", r.CONFIG_MAPS, {"data": None}, ["x", 0, AGE]),
    ("secret", r.SECRETS, {"type": "Opaque", "data": {"a": "YQ=="}}, ["x", "Opaque", 1, AGE]),
    ("service account", r.SERVICE_ACCOUNTS, {"secrets": [{"name": "s"}]}, ["x", AGE]),
    (
        "node",
        r.NODES,
        {
            "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
            "status": NODE_STATUS,
        },
        ["x", "Ready", "edge,worker", AGE, "v1.37.0", "172.30.96.11", "192.0.2.11", *NODE_SOFTWARE],
    ),
    (
        "node nothing is known of",
        r.NODES,
        {"spec": {"unschedulable": True}},
        ["x", "Unknown,SchedulingDisabled", "<none>", AGE, "", "<none>", "<none>", *["<unknown>"] * 3],
    ),
    (
        "cluster IP service",
        r.SERVICES,
        service(ports=[{"port": 80, "protocol": "TCP"}], selector={"b": "2", "a": "1"}),
        ["x", "ClusterIP", "10.96.0.7", "<none>", "80/TCP", AGE, "a=1,b=2"],
    ),
    (
        "node port service with external IPs",
        r.SERVICES,
        service(
            "NodePort",
            ports=[{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
            externalIPs=["192.0.2.1", "192.0.2.2"],
        ),
        ["x", "NodePort", "10.96.0.7", "192.0.2.1,192.0.2.2", "80:30080/TCP,53/UDP", AGE, "<none>"],
    ),
    (
        "load balancer that waits",
        r.SERVICES,
        service("LoadBalancer"),
        ["x", "LoadBalancer", "10.96.0.7", "<pending>", "<none>", AGE, "<none>"],
    ),
    (
        "load balancer",
        r.SERVICES,
        service(
            "LoadBalancer",
            balanced({"hostname": "z.example"}, {"ip": "192.0.2.9", "hostname": "a.example"}),
            externalIPs=["192.0.2.1"],
        ),
        ["x", "LoadBalancer", "10.96.0.7", "192.0.2.9,z.example,192.0.2.1", "<none>", AGE, "<none>"],
    ),
    (
        "external name",
        r.SERVICES,
        {"spec": {"type": "ExternalName", "externalName": "db.example"}},
        ["x", "ExternalName", "<none>", "db.example", "<none>", AGE, "<none>"],
    ),
    ("endpoints without subsets", r.ENDPOINTS, {"subsets": []}, ["x", "<none>", AGE]),
    (
        "endpoints not ready",
        r.ENDPOINTS,
        {"subsets": [subset([], [80], not_ready=["10.1.0.1"])]},
        ["x", "", AGE],
    ),
    (
        "endpoints: port by port, over subsets",
        r.ENDPOINTS,
        {"subsets": [subset(["10.1.0.1", "10.1.0.2"], [80]), subset(["fd00::1"], [81])]},
        ["x", "10.1.0.1:80,10.1.0.2:80,[fd00::1]:81", AGE],
    ),
    (
        "endpoints: more than three",
        r.ENDPOINTS,
        {"subsets": [subset(["10.1.0.1", "10.1.0.2"], [80, 81]), subset(["10.1.0.3"], [80])]},
        ["x", "10.1.0.1:80,10.1.0.2:80,10.1.0.1:81 + 2 more...", AGE],
    ),
    (
        "endpoints without ports",
        r.ENDPOINTS,
        {"subsets": [subset(["10.1.0.1", "10.1.0.2"], [])]},
        ["x", "10.1.0.1,10.1.0.2", AGE],
    ),
    (
        "endpoint slice",
        r.ENDPOINT_SLICES,
        {
            "addressType": "IPv4",
            "ports": [{"port": 80}, {"name": "web"}, {}, {"port": 81}],
            "endpoints": [{"addresses": ["10.1.0.1"]}, {"addresses": ["10.1.0.2"]}],
        },
        ["x", "IPv4", "80,web,* + 1 more...", "10.1.0.1,10.1.0.2", AGE],
    ),
    (
        "empty endpoint slice",
        r.ENDPOINT_SLICES,
        {"addressType": "IPv6", "ports": None, "endpoints": None},
        ["x", "IPv6", "<unset>", "<unset>", AGE],
    ),
    (
        "deployment",
        r.DEPLOYMENTS,
        {
            "spec": {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
            "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1},
        },
        ["x", "2/3", 3, 1, AGE, "c,d", "nginx:1,redis:7", "app=a"],
    ),
    (
        "deployment with an empty selector",
        r.DEPLOYMENTS,
        {"spec": {"selector": {}}},
        ["x", "0/0", 0, 0, AGE, "", "", ""],
    ),
    (
        "replica set",
        r.REPLICA_SETS,
        {
            "spec": {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
            "status": {"replicas": 2, "readyReplicas": 1},
        },
        ["x", 3, 2, 1, AGE, "c,d", "nginx:1,redis:7", "app=a"],
    ),
    (
        "replication controller",
        r.REPLICATION_CONTROLLERS,
        {"spec": {"replicas": 3, "template": TEMPLATE, "selector": {"app": "a"}}, "status": {"replicas": 2}},
        ["x", 3, 2, 0, AGE, "c,d", "nginx:1,redis:7", "app=a"],
    ),
    (
        "stateful set",
        r.STATEFUL_SETS,
        {"spec": {"replicas": 2, "template": TEMPLATE}, "status": {"readyReplicas": 1}},
        ["x", "1/2", AGE, "c,d", "nginx:1,redis:7"],
    ),
    (
        "daemon set",
        r.DAEMON_SETS,
        {
            "spec": {"template": TEMPLATE, "selector": SELECTOR},
            "status": {
                "desiredNumberScheduled": 5,
                "currentNumberScheduled": 4,
                "numberReady": 3,
                "updatedNumberScheduled": 2,
                "numberAvailable": 1,
            },
        },
        ["x", 5, 4, 3, 2, 1, "<none>", AGE, "c,d", "nginx:1,redis:7", "app=a"],
    ),
    (
        "controller revision",
        r.CONTROLLER_REVISIONS,
        {"metadata": {"ownerReferences": [{"kind": "X"}, OWNER]}, "revision": 4},
        ["x", "statefulset.apps/w", 4, AGE],
    ),
    ("controller revision of nobody", r.CONTROLLER_REVISIONS, {"revision": 1}, ["x", "<none>", 1, AGE]),
    ("scale", SCALE, {"spec": {"replicas": 3}, "status": {"replicas": 2}}, ["x", 3, 2, AGE]),
    ("ingress", r.INGRESSES, ingress(), ["x", "<none>", "*", "", "80", AGE]),
    (
        "ingress with class, hosts, TLS and address",
        r.INGRESSES,
        ingress("a", "", "b", ingressClassName="nginx", tls=[{}]) | {"status": balanced({"ip": "192.0.2.9"})},
        ["x", "nginx", "a,b", "192.0.2.9", "80, 443", AGE],
    ),
    (
        "ingress with more than three hosts",
        r.INGRESSES,
        ingress("a", "b", "c", "d", "e"),
        ["x", "<none>", "a,b,c + 2 more...", "", "80", AGE],
    ),
    (
        "ingress whose further rules have no host",
        r.INGRESSES,
        ingress("", "a", "b", "c", ""),
        ["x", "<none>", "a,b,c + 2 more...", "", "80", AGE],
    ),
    (
        "ingress class",
        r.INGRESS_CLASSES,
        {"spec": {"controller": "example.com/x", "parameters": {"kind": "P", "name": "p"}}},
        ["x", "example.com/x", "P/p", AGE],
    ),
    (
        "network policy",
        r.NETWORK_POLICIES,
        {"spec": {"podSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}},
        ["x", "a", AGE],
    ),
    (
        "service CIDR",
        r.SERVICE_CIDRS,
        {"spec": {"cidrs": ["10.96.0.0/16", "fd00:96::/112"]}},
        ["x", "10.96.0.0/16,fd00:96::/112", AGE],
    ),
    (
        "IP address",
        r.IP_ADDRESSES,
        {"spec": {"parentRef": {"group": "", "resource": "services", "namespace": "ns", "name": "a"}}},
        ["x", "services/ns/a", AGE],
    ),
    (
        "IP address of a parent in a group, without namespace",
        r.IP_ADDRESSES,
        {"spec": {"parentRef": {"group": "example.com", "resource": "Gateways", "name": "g"}}},
        ["x", "gateways.example.com/g", AGE],
    ),
    ("lease", r.LEASES, {"spec": {"holderIdentity": "me"}}, ["x", "me", AGE]),
    ("lease of nobody", r.LEASES, {"spec": {}}, ["x", "", AGE]),
    (
        "disruption budget by number",
        r.POD_DISRUPTION_BUDGETS,
        {"spec": {"minAvailable": 0}, "status": {"disruptionsAllowed": 2}},
        ["x", "0", "N/A", 2, AGE],
    ),
    (
        "disruption budget by percentage",
        r.POD_DISRUPTION_BUDGETS,
        {"spec": {"maxUnavailable": "50%"}},
        ["x", "N/A", "50%", 0, AGE],
    ),
    (
        "role binding",
        r.ROLE_BINDINGS,
        {
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [
                {"kind": "User", "name": "u"},
                {"kind": "Group", "name": "g"},
                {"kind": "ServiceAccount", "namespace": "ns", "name": "s"},
                {"kind": "User", "name": "v"},
            ],
        },
        ["x", "Role/r", AGE, "u, v", "g", "ns/s"],
    ),
    (
        "cluster role binding",
        r.CLUSTER_ROLE_BINDINGS,
        {"roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": None},
        ["x", "ClusterRole/r", AGE, "", "", ""],
    ),
    ("role", r.ROLES, {"rules": []}, ["x", CREATED]),
    ("cluster role", r.CLUSTER_ROLES, {"rules": []}, ["x", CREATED]),
    ("a kind nobody knows", Resource("example.com", "v1", "things", "Thing"), {}, ["x", CREATED]),
    (
        "event",
        r.EVENTS,
        event(),
        ["5m", "Warning", "BackOff", "pod/p", "spec.containers{c}", "kubelet, n1", "back-off", AGE, 3, "x"],
    ),
    (
        "event in a series",
        r.EVENTS,
        event(series={"count": 7, "lastObservedTime": "2025-12-31T23:59:50.000000Z"}),
        ["10s", "Warning", "BackOff", "pod/p", "spec.containers{c}", "kubelet, n1", "back-off", AGE, 7, "x"],
    ),
    (
        "event with nothing but its time",
        r.EVENTS,
        {
            "eventTime": "2025-12-31T23:55:00.000000Z",
            "involvedObject": {"kind": "Node"},
            "reportingComponent": "proxy",
        },
        ["5m", "", "", "node", "", "proxy", "", "5m", 1, "x"],
    ),
    (
        "event of events.k8s.io",
        r.EVENTS_V1,
        {
            "eventTime": "2025-12-31T23:55:00.000000Z",
            "type": "Normal",
            "reason": "Started",
            "regarding": {"kind": "Pod", "name": "p"},
            "note": "hello",
            "reportingController": "kubelet",
            "reportingInstance": "n1",
            "deprecatedCount": 2,
            "deprecatedLastTimestamp": "2025-12-31T23:59:00Z",
        },
        ["60s", "Normal", "Started", "pod/p", "", "kubelet, n1", "hello", "5m", 2, "x"],
    ),
]


@pytest.mark.parametrize(
    ("resource", "obj", "cells"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_row_of(resource: Resource, obj: dict[str, Any], cells: list[Any]) -> None:
    metadata = {"name": "x", "creationTimestamp": CREATED} | obj.get("metadata", {})
    assert row_cells(resource, obj | {"metadata": metadata}, NOW) == cells


ALL_RESOURCES = [value for value in vars(r).values() if isinstance(value, Resource)]


@pytest.mark.parametrize("resource", ALL_RESOURCES, ids=lambda resource: str(resource.qualified))
def test_an_object_with_nothing_in_it_fills_every_column(resource: Resource) -> None:
    unnamed = 1 if resource == r.IP_ADDRESSES else 0
    assert len(row_cells(resource, {}, NOW)) == len(columns_of(resource)) + unnamed
