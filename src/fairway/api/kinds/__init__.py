"""Every kind Fairway serves, one small declarative file for each family.

Adding a kind is adding a `Kind` to one of these files (or a new one) and naming it in `ALL`.
"""

from __future__ import annotations

from fairway.api.kind import Kind
from fairway.api.kinds import (
    configuration,
    coordination,
    endpoints,
    endpointslice,
    event,
    event_v1,
    namespace,
    networking,
    node,
    pod,
    policy,
    rbac,
    reviews,
    secret,
    service,
    workloads,
)

ALL: tuple[Kind, ...] = (
    namespace.NAMESPACE,
    node.NODE,
    pod.POD,
    service.SERVICE,
    endpoints.ENDPOINTS,
    configuration.CONFIG_MAP,
    secret.SECRET,
    configuration.SERVICE_ACCOUNT,
    event.EVENT,
    event_v1.EVENT_V1,
    workloads.REPLICATION_CONTROLLER,
    workloads.DEPLOYMENT,
    workloads.REPLICA_SET,
    workloads.STATEFUL_SET,
    workloads.DAEMON_SET,
    workloads.CONTROLLER_REVISION,
    endpointslice.ENDPOINT_SLICE,
    coordination.LEASE,
    networking.INGRESS,
    networking.INGRESS_CLASS,
    networking.NETWORK_POLICY,
    networking.SERVICE_CIDR,
    networking.IP_ADDRESS,
    policy.POD_DISRUPTION_BUDGET,
    *rbac.ALL,
    *reviews.ALL,
)
