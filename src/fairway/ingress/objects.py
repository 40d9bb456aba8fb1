"""What the ingress controller reads: narrow views of Ingress, IngressClass, Secret and ConfigMap."""

from __future__ import annotations

from typing import Any

from fairway.api.objects import LoadBalancerStatus, ObjectMeta, View


class BackendPort(View, frozen=True):
    name: str = ""
    number: int = 0


class ServiceBackend(View, frozen=True):
    name: str = ""
    port: BackendPort = BackendPort()


class Backend(View, frozen=True):
    service: ServiceBackend | None = None
    resource: dict[str, Any] | None = None


class Path(View, frozen=True):
    path: str = ""
    path_type: str = "ImplementationSpecific"
    backend: Backend = Backend()


class HttpRule(View, frozen=True):
    paths: tuple[Path, ...] = ()


class Rule(View, frozen=True):
    host: str = ""
    http: HttpRule | None = None


class Tls(View, frozen=True):
    hosts: list[str] | None = None
    secret_name: str = ""


class IngressSpec(View, frozen=True):
    ingress_class_name: str | None = None
    default_backend: Backend | None = None
    tls: list[Tls] | None = None
    rules: list[Rule] | None = None


class IngressStatus(View, frozen=True):
    load_balancer: LoadBalancerStatus = LoadBalancerStatus()


class Ingress(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: IngressSpec = IngressSpec()
    status: IngressStatus = IngressStatus()

    @property
    def age(self) -> tuple[str, str]:
        """Sorts the oldest first; of two that claim the same, it has its way."""
        return self.metadata.creation_timestamp or "", self.metadata.key


class IngressClassSpec(View, frozen=True):
    controller: str = ""


class IngressClass(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: IngressClassSpec = IngressClassSpec()


class Secret(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    data: dict[str, str] | None = None


class ConfigMap(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None
