"""What the balancer of a node listens for and where it leads, worked out from the cluster's objects. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairway.api.objects import EndpointSlice
from fairway.lb.balancer.annotations import AnnotationError, PortWish, Wishes, certificate_secret, wishes
from fairway.lb.balancer.certificates import Certificate, CertificateError
from fairway.lb.objects import Service, is_ours
from fairway.lb.speaker.model import SERVICE_NAME_LABEL

SMALLEST = 8


@dataclass(frozen=True, slots=True, order=True)
class Server:
    """An endpoint: an address that has been parsed, and a port."""

    ip: str
    port: int


@dataclass(frozen=True, slots=True)
class Listener:
    """One port of one Service. `local` is the port of the node that HAProxy listens on for it."""

    service: str
    port: int
    local: int
    addresses: tuple[str, ...]
    wish: PortWish
    proxy_protocol: bool = False
    idle_seconds: int = 60
    certificate: str = ""
    """The name of a file among the balancer's own, made of digits and letters by us."""
    sources: tuple[str, ...] | None = None
    """Ranges that may connect; None for everyone."""

    @property
    def name(self) -> str:
        return f"port-{self.local}"


@dataclass(frozen=True, slots=True)
class Complaint:
    """A Service that can't be served as it asks, and why."""

    service: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Desired:
    listeners: tuple[Listener, ...] = ()
    servers: Mapping[str, tuple[Server, ...]] | None = None
    """Endpoints by the listener's name."""
    certificates: Mapping[str, Certificate] | None = None
    complaints: tuple[Complaint, ...] = ()


class Ports:
    """Local ports for listeners: kept as long as a listener lives, so that others don't move it."""

    def __init__(self, first: int, last: int) -> None:
        self._free = range(first, last + 1)
        self._given: dict[tuple[str, int], int] = {}

    def assign(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Those for which there is none left are missing from the answer."""
        keys = sorted(set(wanted))
        kept = {key: self._given[key] for key in keys if key in self._given}
        used = set(kept.values())
        spare = (port for port in self._free if port not in used)
        for key in keys:
            if key not in kept and (port := next(spare, None)) is not None:
                kept[key] = port
        self._given = kept
        return kept


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything a node's balancer is worked out from."""

    services: Iterable[Service]
    slices: Iterable[EndpointSlice]
    certificates: Mapping[str, Certificate | CertificateError]
    """By `namespace/name` of their Secret."""
    table: dict[str, str]
    node: str
    default_class: bool = True


def desired(sources: Sources, ports: Ports) -> Desired:
    balanced: list[tuple[Service, Wishes]] = []
    complaints: list[Complaint] = []
    for service in sources.services:
        if not is_ours(service, sources.default_class) or service.metadata.deletion_timestamp:
            continue
        try:
            found = wishes(service)
        except AnnotationError:
            continue  # said by the allocating part, which gives it no address
        if found is not None and service.addresses:
            balanced.append((service, found))
    if not balanced:
        return Desired()
    local = ports.assign((s.metadata.key, w.port) for s, found in balanced for w in found.ports)
    endpoints = _by_service(sources.slices)
    listeners: list[Listener] = []
    servers: dict[str, tuple[Server, ...]] = {}
    used: dict[str, Certificate] = {}
    for service, found in balanced:
        key = service.metadata.key
        certificate = _certificate(service, found, sources)
        if isinstance(certificate, Complaint):
            complaints.append(certificate)
        for wish in found.ports:
            if (key, wish.port) not in local:
                complaints.append(Complaint(key, "NoLocalPort", "the node has no local port left for it"))
            elif not wish.terminate or isinstance(certificate, Certificate):
                chosen = certificate if wish.terminate and isinstance(certificate, Certificate) else None
                listener = _listener(service, found, wish, local[key, wish.port], chosen)
                listeners.append(listener)
                servers[listener.name] = _servers(service, wish, endpoints.get(key, ()), sources.node)
                if chosen:
                    used[chosen.name] = chosen
    return Desired(
        tuple(sorted(listeners, key=lambda listener: listener.local)), servers, used, tuple(complaints)
    )


def _listener(
    service: Service, found: Wishes, wish: PortWish, local: int, certificate: Certificate | None
) -> Listener:
    return Listener(
        service=service.metadata.key,
        port=wish.port,
        local=local,
        addresses=tuple(text for text in service.addresses if _is_address(text)),
        wish=wish,
        proxy_protocol=found.proxy_protocol,
        idle_seconds=found.idle_seconds,
        certificate=certificate.name if certificate else "",
        sources=_ranges(service.spec.load_balancer_source_ranges),
    )


def _certificate(service: Service, found: Wishes, sources: Sources) -> Certificate | Complaint | None:
    if not any(wish.terminate for wish in found.ports):
        return None
    key = service.metadata.key
    secret = certificate_secret(found.certificate, service.metadata.namespace, sources.table)
    if not secret:
        text = "the certificate's name stands for no Secret; name one, or add it to the table of certificates"
        return Complaint(key, "CertificateMissing", text)
    certificate = sources.certificates.get(secret)
    if certificate is None:
        text = f"there is no Secret {secret} of type kubernetes.io/tls; until there is, TLS ports are closed"
        return Complaint(key, "CertificateMissing", text)
    if isinstance(certificate, CertificateError):
        return Complaint(key, "CertificateInvalid", f"Secret {secret}: {certificate}")
    return certificate


def _by_service(slices: Iterable[EndpointSlice]) -> dict[str, list[EndpointSlice]]:
    found: dict[str, list[EndpointSlice]] = {}
    for entry in slices:
        key = f"{entry.metadata.namespace}/{entry.metadata.label(SERVICE_NAME_LABEL)}"
        found.setdefault(key, []).append(entry)
    return found


def _servers(
    service: Service, wish: PortWish, slices: Iterable[EndpointSlice], node: str
) -> tuple[Server, ...]:
    """Ready endpoints; with policy Local those of this node only."""
    local = service.spec.external_traffic_policy == "Local"
    found = {
        Server(str(ipaddress.ip_address(endpoint.addresses[0])), port.port)
        for entry in slices
        for port in entry.ports or ()
        if (port.name or "") == wish.name and port.port and (port.protocol or "TCP") == "TCP"
        for endpoint in entry.endpoints or ()
        if endpoint.addresses and _is_address(endpoint.addresses[0])
        if endpoint.conditions.ready is not False and (not local or endpoint.node_name == node)
    }
    return tuple(sorted(found))


def _ranges(texts: list[str] | None) -> tuple[str, ...] | None:
    """One that isn't a range allows nobody, rather than everybody."""
    if not texts:
        return None
    found = []
    for text in texts:
        try:
            found.append(str(ipaddress.ip_network(text.strip(), strict=False)))
        except ValueError:
            continue
    return tuple(sorted(found))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


# ---- slots ---------------------------------------------------------------------------------------------


def slot_count(servers: int) -> int:
    """Room to grow without a reload: the next power of two."""
    return max(SMALLEST, 1 << max(0, servers - 1).bit_length())


def arrange(before: tuple[Server | None, ...], servers: tuple[Server, ...]) -> tuple[Server | None, ...]:
    """Servers by slot: those that have one keep it. More slots than before only if they are needed."""
    count = max(len(before), slot_count(len(servers)))
    kept = [server if server in servers else None for server in before]
    kept += [None] * (count - len(kept))
    arriving = iter([server for server in servers if server not in kept])
    return tuple(slot or next(arriving, None) for slot in kept)
