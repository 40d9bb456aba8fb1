"""Objects for controller tests, each with only what a test says about it."""

from __future__ import annotations

from typing import Any

from fairway.api.objects import (
    Condition,
    Container,
    ContainerPort,
    ContainerStatus,
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodIP,
    PodSpec,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
    Taint,
)
from fairway.api.timestamps import stamp
from fairway.controllers.backends import reference_to
from fairway.controllers.selectors import LabelSelector
from fairway.controllers.slices import MANAGED_BY, SERVICE_NAME
from fairway.controllers.workloads import (
    Deployment,
    DeploymentSpec,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicaSetStatus,
    RollingUpdateDeployment,
)

NOW = 1_800_000_000.0
NAMESPACE = "shop"
WEB = {"app": "web"}


def meta(name: str, **fields: Any) -> ObjectMeta:
    fields.setdefault("uid", f"uid-{name}")
    fields.setdefault("namespace", NAMESPACE)
    fields.setdefault("creation_timestamp", stamp(NOW - 3600))
    return ObjectMeta(name=name, resource_version="7", **fields)


def owned_by(uid: str, kind: str = "ReplicaSet", name: str = "web") -> list[OwnerReference]:
    return [OwnerReference(kind=kind, name=name, uid=uid, api_version="apps/v1", controller=True)]


def pod(
    name: str,
    *ips: str,
    ready: bool = True,
    phase: str = "Running",
    going: bool = False,
    labels: dict[str, str] | None = None,
    node: str = "n1",
    ports: tuple[ContainerPort, ...] = (ContainerPort(8080, "http"),),
    ready_since: float = NOW - 600,
    created: float = NOW - 3600,
    restarts: int = 0,
    owner: str = "",
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Pod:
    return Pod(
        metadata=meta(
            name,
            labels=WEB if labels is None else labels,
            deletion_timestamp=stamp(NOW) if going else None,
            creation_timestamp=stamp(created),
            owner_references=owned_by(owner) if owner else None,
            annotations=annotations,
        ),
        spec=PodSpec(containers=[Container("main", "app:1", list(ports))], node_name=node, **spec),
        status=PodStatus(
            phase=phase,
            conditions=[
                Condition("Ready", "True" if ready else "False", last_transition_time=stamp(ready_since))
            ],
            pod_ip=ips[0] if ips else "",
            pod_ips=[PodIP(ip) for ip in ips],
            container_statuses=[ContainerStatus("main", ready, restarts)],
        ),
    )


def service(*ports: ServicePort, labels: dict[str, str] | None = None, **spec: Any) -> Service:
    annotations = spec.pop("annotations", None)
    going = spec.pop("going", False)
    spec.setdefault("selector", WEB)
    spec.setdefault("cluster_ip", "10.96.0.9")
    spec.setdefault("ip_families", ["IPv4"])
    deleted = stamp(NOW) if going else None
    return Service(
        metadata=meta("web", labels=labels, annotations=annotations, deletion_timestamp=deleted),
        spec=ServiceSpec(ports=list(ports or (ServicePort(80, target_port=8080),)), **spec),
    )


def endpoint(of: Pod, *, ready: bool = True, zone: str | None = "za", family: int = 0) -> Endpoint:
    """As the planner makes it of a running Pod."""
    ips = of.status.pod_ips or []
    return Endpoint(
        addresses=[ips[family].ip],
        conditions=EndpointConditions(ready=ready, serving=ready, terminating=False),
        node_name=of.spec.node_name,
        zone=zone,
        target_ref=reference_to(of),
    )


def endpoint_slice(
    name: str, *endpoints: Endpoint, ports: tuple[EndpointPort, ...] | None = None, **fields: Any
) -> EndpointSlice:
    labels = fields.pop("labels", {SERVICE_NAME: "web", MANAGED_BY: "endpointslice-controller.k8s.io"})
    owner = fields.pop("owner", "uid-web")
    references = [OwnerReference("Service", "web", owner, "v1", True, True)]
    default = (EndpointPort("", 8080, "TCP"),)
    return EndpointSlice(
        metadata=meta(name, labels=labels, owner_references=references if owner else None, **fields),
        endpoints=list(endpoints),
        ports=list(default if ports is None else ports),
    )


def node(name: str, *, zone: str = "", cpu: str = "4", ready: str = "True", **fields: Any) -> Node:
    labels = {"kubernetes.io/hostname": name, **fields.pop("labels", {})}
    if zone:
        labels["topology.kubernetes.io/zone"] = zone
    allocatable = {"cpu": cpu, "pods": fields.pop("room", "110")}
    taints = [Taint(*taint) for taint in fields.pop("taints", ())]
    return Node(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}", labels=labels, resource_version="3"),
        spec=NodeSpec(taints=taints or None, **fields),
        status=NodeStatus(conditions=[Condition("Ready", ready)], allocatable=allocatable),
    )


def template(image: str = "app:1", labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"labels": dict(WEB if labels is None else labels)},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }


def deployment(replicas: int = 3, image: str = "app:1", **fields: Any) -> Deployment:
    strategy = fields.pop("strategy", "RollingUpdate")
    surge, unavailable = fields.pop("surge", "25%"), fields.pop("unavailable", "25%")
    status = fields.pop("status", None)
    annotations = fields.pop("annotations", None)
    rolling = RollingUpdateDeployment(surge, unavailable) if strategy == "RollingUpdate" else None
    fields.setdefault("progress_deadline_seconds", 600)
    made = Deployment(
        metadata=meta("web", uid="uid-deployment", generation=1, annotations=annotations),
        spec=DeploymentSpec(
            replicas=replicas,
            selector=LabelSelector(match_labels=WEB),
            strategy=DeploymentStrategy(strategy, rolling),
            template=template(image),
            **fields,
        ),
    )
    return made if status is None else Deployment(made.metadata, made.spec, status)


def replica_set(
    name: str = "web", replicas: int = 1, image: str = "app:1", *, available: int = 0, **fields: Any
) -> ReplicaSet:
    annotations = fields.pop("annotations", None)
    created = fields.pop("created", NOW - 3600)
    present = fields.pop("present", replicas)
    min_ready = fields.pop("min_ready_seconds", 0)
    return ReplicaSet(
        metadata=meta(
            name,
            generation=1,
            annotations=annotations,
            creation_timestamp=stamp(created),
            owner_references=owned_by("uid-deployment", "Deployment"),
            **fields,
        ),
        spec=ReplicaSetSpec(replicas, min_ready, LabelSelector(match_labels=WEB), template(image)),
        status=ReplicaSetStatus(present, present, available, available, observed_generation=1),
    )
