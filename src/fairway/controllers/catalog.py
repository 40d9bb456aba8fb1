"""The controllers there are, under the names kube-controller-manager gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from fairway.api.resources import Resource
from fairway.controllers.cluster import Cluster
from fairway.controllers.config import Config
from fairway.controllers.daemonset import controller as daemonset
from fairway.controllers.deployment import controller as deployment
from fairway.controllers.disruption import controller as disruption
from fairway.controllers.endpoint import controller as endpoint
from fairway.controllers.endpointslice import controller as endpointslice
from fairway.controllers.endpointslicemirroring import controller as endpointslicemirroring
from fairway.controllers.garbagecollector import controller as garbagecollector
from fairway.controllers.loop import Loop
from fairway.controllers.namespace import controller as namespace
from fairway.controllers.nodelifecycle import controller as nodelifecycle
from fairway.controllers.podgc import controller as podgc
from fairway.controllers.replicaset import controller as replicaset
from fairway.controllers.replicationcontroller import controller as replicationcontroller
from fairway.controllers.rootca import controller as rootca
from fairway.controllers.scheduler import controller as scheduler
from fairway.controllers.serviceaccount import controller as serviceaccount
from fairway.controllers.statefulset import controller as statefulset


class Controller(Protocol):
    loop: Loop


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What controllers are made from."""

    cluster: Cluster
    config: Config
    root_ca: str
    served: tuple[Resource, ...]


# In the order they are made and hear of changes: slices first, because proxies and DNS read those; the
# garbage collector last, because it shares the caches of the others.
CONTROLLERS: Mapping[str, Callable[[Surroundings], Controller]] = {
    endpointslice.NAME: lambda s: endpointslice.EndpointSliceController(s.cluster),
    endpoint.NAME: lambda s: endpoint.EndpointController(s.cluster),
    endpointslicemirroring.NAME: lambda s: endpointslicemirroring.EndpointSliceMirroringController(s.cluster),
    deployment.NAME: lambda s: deployment.DeploymentController(s.cluster),
    replicaset.NAME: lambda s: replicaset.ReplicaSetController(s.cluster),
    replicationcontroller.NAME: lambda s: replicationcontroller.make(s.cluster),
    statefulset.NAME: lambda s: statefulset.StatefulSetController(s.cluster),
    daemonset.NAME: lambda s: daemonset.DaemonSetController(s.cluster),
    disruption.NAME: lambda s: disruption.DisruptionController(s.cluster),
    scheduler.NAME: lambda s: scheduler.Scheduler(s.cluster),
    nodelifecycle.NAME: lambda s: nodelifecycle.NodeLifecycleController(
        s.cluster, s.config.node_monitor_grace_period, s.config.node_monitor_period
    ),
    podgc.NAME: lambda s: podgc.PodGarbageCollector(s.cluster, s.config.terminated_pod_gc_threshold),
    namespace.NAME: lambda s: namespace.NamespaceController(s.cluster),
    serviceaccount.NAME: lambda s: serviceaccount.ServiceAccountController(s.cluster),
    rootca.NAME: lambda s: rootca.RootCAController(s.cluster, s.root_ca),
    garbagecollector.NAME: lambda s: garbagecollector.GarbageCollector(s.cluster, s.served),
}
