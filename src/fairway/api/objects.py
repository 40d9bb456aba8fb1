"""Narrow typed views of Kubernetes objects, for components that read them.

Each Struct names only fields that a component uses; decoding skips everything else. They are read-only
views: to change an object, patch it, or what the view left out would be lost.
"""

from __future__ import annotations

from typing import Any

import msgspec


class View(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of all views: immutable, camelCase on the wire, absent fields take their defaults."""


class OwnerReference(View, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(View, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None
    finalizers: list[str] | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def label(self, name: str, default: str = "") -> str:
        return (self.labels or {}).get(name, default)

    def annotation(self, name: str, default: str = "") -> str:
        return (self.annotations or {}).get(name, default)


# ---- Service -------------------------------------------------------------------------------------------


class ServicePort(View, frozen=True):
    port: int = 0
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str | None = None
    node_port: int = 0
    app_protocol: str | None = None


class ClientIPConfig(View, frozen=True):
    timeout_seconds: int = 10800


class SessionAffinityConfig(View, frozen=True):
    client_ip: ClientIPConfig | None = msgspec.field(default=None, name="clientIP")


class ServiceSpec(View, frozen=True):
    type: str = "ClusterIP"
    selector: dict[str, str] | None = None
    ports: list[ServicePort] = []
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    cluster_ips: list[str] | None = msgspec.field(default=None, name="clusterIPs")
    ip_families: list[str] | None = None
    ip_family_policy: str | None = None
    external_name: str = ""
    external_ips: list[str] | None = msgspec.field(default=None, name="externalIPs")
    session_affinity: str = "None"
    session_affinity_config: SessionAffinityConfig | None = None
    internal_traffic_policy: str | None = None
    external_traffic_policy: str = ""
    health_check_node_port: int = 0
    publish_not_ready_addresses: bool = False
    load_balancer_source_ranges: list[str] | None = None
    load_balancer_class: str | None = None
    traffic_distribution: str | None = None


class LoadBalancerIngress(View, frozen=True):
    ip: str = ""
    hostname: str = ""
    ip_mode: str | None = None


class LoadBalancerStatus(View, frozen=True):
    ingress: list[LoadBalancerIngress] | None = None


class ServiceStatus(View, frozen=True):
    load_balancer: LoadBalancerStatus = LoadBalancerStatus()


class Service(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


# ---- EndpointSlice -------------------------------------------------------------------------------------


class ObjectReference(View, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    api_version: str = ""
    field_path: str = ""


class EndpointConditions(View, frozen=True):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ForZone(View, frozen=True):
    name: str = ""


class EndpointHints(View, frozen=True):
    for_zones: list[ForZone] | None = None
    for_nodes: list[ForZone] | None = None


class Endpoint(View, frozen=True):
    addresses: list[str] = []
    conditions: EndpointConditions = EndpointConditions()
    hostname: str | None = None
    node_name: str | None = None
    zone: str | None = None
    target_ref: ObjectReference | None = None
    hints: EndpointHints | None = None


class EndpointPort(View, frozen=True):
    name: str | None = None
    port: int | None = None
    protocol: str | None = None
    app_protocol: str | None = None


class EndpointSlice(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    address_type: str = "IPv4"
    endpoints: list[Endpoint] | None = None
    ports: list[EndpointPort] | None = None


# ---- Endpoints -----------------------------------------------------------------------------------------


class EndpointAddress(View, frozen=True):
    ip: str = ""
    hostname: str = ""
    node_name: str | None = None
    target_ref: ObjectReference | None = None


class EndpointsPort(View, frozen=True):
    name: str = ""
    port: int = 0
    protocol: str = ""
    app_protocol: str | None = None


class EndpointSubset(View, frozen=True):
    addresses: list[EndpointAddress] | None = None
    not_ready_addresses: list[EndpointAddress] | None = None
    ports: list[EndpointsPort] | None = None


class Endpoints(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    subsets: list[EndpointSubset] | None = None


# ---- Node ----------------------------------------------------------------------------------------------


class Condition(View, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_heartbeat_time: str | None = None


class Taint(View, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeSpec(View, frozen=True):
    pod_cidr: str = msgspec.field(default="", name="podCIDR")
    pod_cidrs: list[str] | None = msgspec.field(default=None, name="podCIDRs")
    unschedulable: bool = False
    taints: list[Taint] | None = None


class NodeAddress(View, frozen=True):
    type: str = ""
    address: str = ""


class NodeStatus(View, frozen=True):
    addresses: list[NodeAddress] | None = None
    conditions: list[Condition] | None = None
    allocatable: dict[str, str] | None = None


class Node(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# ---- Pod (as controllers and the scheduler see it; the node agent has its own, wider view) --------------


class ContainerPort(View, frozen=True):
    container_port: int = 0
    name: str = ""
    protocol: str = "TCP"
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")


class ResourceRequirements(View, frozen=True):
    requests: dict[str, str] | None = None


class Container(View, frozen=True):
    name: str = ""
    image: str = ""
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None
    resources: ResourceRequirements | None = None


class PodReadinessGate(View, frozen=True):
    condition_type: str = ""


class Toleration(View, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class PodSpec(View, frozen=True):
    containers: list[Container] = []
    init_containers: list[Container] | None = None
    node_name: str = ""
    node_selector: dict[str, str] | None = None
    affinity: dict[str, Any] | None = None
    tolerations: list[Toleration] | None = None
    host_network: bool = False
    hostname: str = ""
    subdomain: str = ""
    restart_policy: str = "Always"
    scheduler_name: str = "default-scheduler"
    readiness_gates: list[PodReadinessGate] | None = None
    scheduling_gates: list[dict[str, str]] | None = None
    overhead: dict[str, str] | None = None
    resources: ResourceRequirements | None = None


class PodIP(View, frozen=True):
    ip: str = ""


class ContainerStatus(View, frozen=True):
    name: str = ""
    ready: bool = False
    restart_count: int = 0


class PodStatus(View, frozen=True):
    phase: str = ""
    conditions: list[Condition] | None = None
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: list[PodIP] | None = msgspec.field(default=None, name="podIPs")
    host_ip: str = msgspec.field(default="", name="hostIP")
    start_time: str | None = None
    container_statuses: list[ContainerStatus] | None = None

    def condition(self, kind: str) -> Condition | None:
        return next((c for c in self.conditions or () if c.type == kind), None)


class Pod(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
