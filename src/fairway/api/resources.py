"""The resources of the API: how each is grouped, versioned, spelled and addressed.

Only names and paths belong here; what a kind means (defaults, validation, columns) is in `api/kinds`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """One REST resource, as discovery lists it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """Looked up many times a request, so no more is hashed than tells resources apart."""
        return hash((self.plural, self.group))

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """`services` or `deployments.apps`: the name error messages use."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The URL path of a collection, an object or one of its subresources."""
        parts = [self.root]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)


def _core(
    plural: str, kind: str, *short: str, namespaced: bool = True, categories: tuple[str, ...] = ()
) -> Resource:
    return Resource("", "v1", plural, kind, namespaced, short, categories)


def _apps(plural: str, kind: str, *short: str, categories: tuple[str, ...] = ("all",)) -> Resource:
    return Resource("apps", "v1", plural, kind, True, short, categories)


def _networking(plural: str, kind: str, *short: str, namespaced: bool = True) -> Resource:
    return Resource("networking.k8s.io", "v1", plural, kind, namespaced, short)


def _rbac(plural: str, kind: str, namespaced: bool = True) -> Resource:
    return Resource("rbac.authorization.k8s.io", "v1", plural, kind, namespaced)


NAMESPACES = _core("namespaces", "Namespace", "ns", namespaced=False)
NODES = _core("nodes", "Node", "no", namespaced=False)
PODS = _core("pods", "Pod", "po", categories=("all",))
SERVICES = _core("services", "Service", "svc", categories=("all",))
ENDPOINTS = _core("endpoints", "Endpoints", "ep")
CONFIG_MAPS = _core("configmaps", "ConfigMap", "cm")
SECRETS = _core("secrets", "Secret")
SERVICE_ACCOUNTS = _core("serviceaccounts", "ServiceAccount", "sa")
EVENTS = _core("events", "Event", "ev")
REPLICATION_CONTROLLERS = _core("replicationcontrollers", "ReplicationController", "rc", categories=("all",))

DEPLOYMENTS = _apps("deployments", "Deployment", "deploy")
REPLICA_SETS = _apps("replicasets", "ReplicaSet", "rs")
STATEFUL_SETS = _apps("statefulsets", "StatefulSet", "sts")
DAEMON_SETS = _apps("daemonsets", "DaemonSet", "ds")
CONTROLLER_REVISIONS = _apps("controllerrevisions", "ControllerRevision", categories=())

ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
EVENTS_V1 = Resource("events.k8s.io", "v1", "events", "Event", True, ("ev",))

INGRESSES = _networking("ingresses", "Ingress", "ing")
INGRESS_CLASSES = _networking("ingressclasses", "IngressClass", namespaced=False)
NETWORK_POLICIES = _networking("networkpolicies", "NetworkPolicy", "netpol")
SERVICE_CIDRS = _networking("servicecidrs", "ServiceCIDR", namespaced=False)
IP_ADDRESSES = _networking("ipaddresses", "IPAddress", "ip", namespaced=False)

POD_DISRUPTION_BUDGETS = Resource(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True, ("pdb",)
)

ROLES = _rbac("roles", "Role")
ROLE_BINDINGS = _rbac("rolebindings", "RoleBinding")
CLUSTER_ROLES = _rbac("clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = _rbac("clusterrolebindings", "ClusterRoleBinding", namespaced=False)
