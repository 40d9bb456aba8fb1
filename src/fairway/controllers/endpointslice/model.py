"""What a Service should publish, before it is cut into slices: endpoints grouped by resolved ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairway.api.objects import Endpoint, EndpointConditions, EndpointPort, Pod, Service
from fairway.controllers.backends import is_backend, published_hostname, reference_to
from fairway.controllers.pods import address_in, is_ready, is_terminating, target_port
from fairway.controllers.slices import Ports, canonical


@dataclass(frozen=True, slots=True)
class Desired:
    """All endpoints of one address family by the ports their Pods resolve; Pods on unknown nodes apart."""

    groups: Mapping[Ports, list[Endpoint]]
    without_node: tuple[Pod, ...]


def desired_endpoints(
    service: Service, pods: Iterable[Pod], family: str, zones: Mapping[str, str]
) -> Desired:
    """`zones` has an entry for every node that exists, empty where the node names no zone.

    A Pod whose node is not known is left out: it is either about to be collected, or its node is about to
    appear. A Service that publishes everything publishes it all the same.
    """
    groups: dict[Ports, list[Endpoint]] = {}
    without_node: list[Pod] = []
    for pod in pods:
        if not is_backend(pod, include_terminating=True):
            continue
        if pod.spec.node_name not in zones and not service.spec.publish_not_ready_addresses:
            without_node.append(pod)
            continue
        ip = address_in(pod, family)
        if ip is not None:
            ports = resolved_ports(service, pod)
            groups.setdefault(ports, []).append(_endpoint(pod, service, ip, zones))
    return Desired(groups, tuple(without_node))


def resolved_ports(service: Service, pod: Pod) -> Ports:
    """The Service's ports as this Pod serves them, those it lacks left out, in a canonical order."""
    ports = [
        EndpointPort(port.name, number, port.protocol, port.app_protocol)
        for port in service.spec.ports
        if (number := target_port(pod, port)) is not None
    ]
    return canonical(ports)


def _endpoint(pod: Pod, service: Service, ip: str, zones: Mapping[str, str]) -> Endpoint:
    serving, terminating = is_ready(pod), is_terminating(pod)
    return Endpoint(
        addresses=[ip],
        conditions=EndpointConditions(
            ready=service.spec.publish_not_ready_addresses or (serving and not terminating),
            serving=serving,
            terminating=terminating,
        ),
        hostname=published_hostname(pod, service),
        node_name=pod.spec.node_name or None,
        zone=zones.get(pod.spec.node_name) or None,
        target_ref=reference_to(pod),
    )
