"""Workloads: what keeps Pods running. One file for each kind; what they share is about their templates."""

from __future__ import annotations

from fairway.api.kinds.workloads.controller_revision import CONTROLLER_REVISION
from fairway.api.kinds.workloads.daemon_set import DAEMON_SET
from fairway.api.kinds.workloads.deployment import DEPLOYMENT
from fairway.api.kinds.workloads.replica_set import REPLICA_SET
from fairway.api.kinds.workloads.replication_controller import REPLICATION_CONTROLLER
from fairway.api.kinds.workloads.stateful_set import STATEFUL_SET

__all__ = [
    "CONTROLLER_REVISION",
    "DAEMON_SET",
    "DEPLOYMENT",
    "REPLICATION_CONTROLLER",
    "REPLICA_SET",
    "STATEFUL_SET",
]
