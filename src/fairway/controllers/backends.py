"""Which Pods stand behind a Service, and what of them shows: the rules Endpoints and EndpointSlices share."""

from __future__ import annotations

from fairway.api.objects import ObjectReference, Pod, Service
from fairway.controllers.pods import IPV4, IPV6, addresses, family_of, is_terminal, is_terminating

HEADLESS_LABEL = "service.kubernetes.io/headless"
LAST_CHANGE_TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"


def wants_endpoints(service: Service) -> bool:
    """Without a selector the endpoints are the user's; an ExternalName has none, selector or not."""
    return service.spec.type != "ExternalName" and bool(service.spec.selector)


def is_headless(service: Service) -> bool:
    return service.spec.cluster_ip in ("", "None")


def is_backend(pod: Pod, *, include_terminating: bool) -> bool:
    """Listed from the moment it has an address, ready or not, until it has ended."""
    if is_terminal(pod) or not addresses(pod):
        return False
    return include_terminating or not is_terminating(pod)


def families(service: Service) -> tuple[str, ...]:
    """The address families a Service publishes; before the API server has filled them in, both may be."""
    if service.spec.ip_families:
        return tuple(service.spec.ip_families)
    if not is_headless(service):
        return (family_of(service.spec.cluster_ip),)
    return (IPV4, IPV6)


def published_hostname(pod: Pod, service: Service) -> str | None:
    """A Pod gets a name of its own only under the Service that its subdomain names."""
    if pod.spec.hostname and pod.spec.subdomain == service.metadata.name:
        return pod.spec.hostname
    return None


def reference_to(pod: Pod) -> ObjectReference:
    meta = pod.metadata
    return ObjectReference(kind="Pod", namespace=meta.namespace, name=meta.name, uid=meta.uid)


def looks_different(old: Pod, new: Pod) -> bool:
    """Whether a Service that selects the Pod could have to publish something else now."""
    return _published(old) != _published(new)


def _published(pod: Pod) -> tuple[object, ...]:
    ready = pod.status.condition("Ready")
    return (
        pod.metadata.uid,
        pod.metadata.labels,
        is_terminating(pod),
        is_terminal(pod),
        addresses(pod),
        ready and (ready.status, ready.last_transition_time),
        pod.spec.node_name,
        pod.spec.hostname,
        pod.spec.subdomain,
    )
