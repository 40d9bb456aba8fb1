"""The views of Kubernetes objects that this component reads, where `fairway.api.objects` is too narrow.

Read-only: to change an object, patch it.
"""

from __future__ import annotations

import msgspec

from fairway.api import objects
from fairway.api.objects import Condition, ObjectMeta, View

FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
CLASS = "fairway.dev/lb"
CONDITION = "fairway.dev/LoadBalancer"
NAMESPACE = "kube-system"
CONFIG_MAP = "fairway-lb"
# Ours, and those that people bring along from MetalLB.
PREFIXES = ("fairway.dev/", "metallb.io/", "metallb.universe.tf/")


class ServiceSpec(objects.ServiceSpec, frozen=True):
    load_balancer_ip: str = msgspec.field(default="", name="loadBalancerIP")


class ServiceStatus(objects.ServiceStatus, frozen=True):
    conditions: list[Condition] | None = None


class Service(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Those in its status, which is the record of what it was given."""
        return tuple(point.ip for point in self.status.load_balancer.ingress or () if point.ip)

    @property
    def condition(self) -> Condition | None:
        return next((c for c in self.status.conditions or () if c.type == CONDITION), None)

    def annotation(self, name: str) -> str:
        """By any of the prefixes it is known under."""
        found = (self.metadata.annotation(f"{prefix}{name}").strip() for prefix in PREFIXES)
        return next((value for value in found if value), "")


class ConfigMap(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None

    def text(self, key: str) -> str:
        return (self.data or {}).get(key, "")


class Secret(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    data: dict[str, str] | None = None


class LeaseSpec(View, frozen=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


def is_ours(service: Service, default: bool) -> bool:
    """Whether a Service is one for us to provide for; `default`: also when it names no class."""
    if service.spec.type != "LoadBalancer":
        return False
    wanted = service.spec.load_balancer_class
    return wanted == CLASS or (wanted is None and default)
