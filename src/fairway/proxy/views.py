"""What the proxy reads of Services and EndpointSlices, and nothing else: it keeps one of each in memory.

The names are those of `fairway.api.objects`. Ten thousand Services take 11 MB less this way.
"""

from __future__ import annotations

import msgspec

from fairway.api.objects import EndpointConditions, EndpointHints, ServiceStatus, SessionAffinityConfig, View


class Metadata(View, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None

    def label(self, name: str, default: str = "") -> str:
        return (self.labels or {}).get(name, default)


class ServicePort(View, frozen=True, gc=False):
    port: int = 0
    name: str = ""
    protocol: str = "TCP"
    node_port: int = 0


class ServiceSpec(View, frozen=True, gc=False):
    type: str = "ClusterIP"
    ports: tuple[ServicePort, ...] = ()
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    cluster_ips: list[str] | None = msgspec.field(default=None, name="clusterIPs")
    external_ips: list[str] | None = msgspec.field(default=None, name="externalIPs")
    session_affinity: str = "None"
    session_affinity_config: SessionAffinityConfig | None = None
    internal_traffic_policy: str | None = None
    external_traffic_policy: str = ""
    health_check_node_port: int = 0
    load_balancer_source_ranges: list[str] | None = None


class Service(View, frozen=True, gc=False):
    metadata: Metadata = Metadata()
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class Triggers(View, frozen=True, gc=False):
    """The one annotation that counts: when the change happened that a slice answers to."""

    last_change: str = msgspec.field(default="", name="endpoints.kubernetes.io/last-change-trigger-time")


class SliceMetadata(Metadata, frozen=True, gc=False):
    annotations: Triggers | None = None


class EndpointPort(View, frozen=True, gc=False):
    name: str | None = None
    port: int | None = None
    protocol: str | None = None


class Endpoint(View, frozen=True, gc=False):
    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    node_name: str | None = None
    hints: EndpointHints | None = None


class EndpointSlice(View, frozen=True, gc=False):
    metadata: SliceMetadata = SliceMetadata()
    address_type: str = "IPv4"
    endpoints: list[Endpoint] | None = None
    ports: list[EndpointPort] | None = None
