"""The ReplicaSet controller over another kind: only the selector is spelled differently."""

from __future__ import annotations

from fairway.api.resources import REPLICATION_CONTROLLERS
from fairway.controllers.cluster import Cluster
from fairway.controllers.replicaset.controller import ReplicaSetController
from fairway.controllers.workloads import ReplicationController

NAME = "replicationcontroller-controller"


def make(cluster: Cluster) -> ReplicaSetController:
    return ReplicaSetController(cluster, NAME, REPLICATION_CONTROLLERS, ReplicationController)
