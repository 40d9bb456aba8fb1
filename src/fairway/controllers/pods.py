"""What a Pod's state means to controllers: active, ready, available, terminal; its addresses and ports.

Facts about one Pod only; who owns it is in `owners`, which Service wants it in the endpoint planners.
"""

from __future__ import annotations

from fairway.api.objects import Container, Pod, ServicePort
from fairway.api.timestamps import seconds

IPV4, IPV6 = "IPv4", "IPv6"


def is_terminal(pod: Pod) -> bool:
    """All its containers have ended and none will be started again."""
    return pod.status.phase in ("Succeeded", "Failed")


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def is_active(pod: Pod) -> bool:
    """Counts towards the replicas of its owner."""
    return not is_terminal(pod) and not is_terminating(pod)


def is_ready(pod: Pod) -> bool:
    """The Ready condition is what the node agent makes of probes and readiness gates together."""
    condition = pod.status.condition("Ready")
    return condition is not None and condition.status == "True"


def ready_since(pod: Pod) -> float | None:
    condition = pod.status.condition("Ready")
    if condition is None or condition.status != "True":
        return None
    return seconds(condition.last_transition_time)


def is_available(pod: Pod, min_ready_seconds: int, now: float) -> bool:
    return is_ready(pod) and seconds_to_available(pod, min_ready_seconds, now) == 0


def seconds_to_available(pod: Pod, min_ready_seconds: int, now: float) -> float:
    """How long a ready Pod still has to stay ready; 0 once it is available."""
    if min_ready_seconds <= 0:
        return 0
    since = ready_since(pod)
    return max(0.0, since + min_ready_seconds - now) if since is not None else float(min_ready_seconds)


def restarts(pod: Pod) -> int:
    return max((c.restart_count for c in pod.status.container_statuses or ()), default=0)


# ---- addresses and ports -------------------------------------------------------------------------------


def family_of(ip: str) -> str:
    return IPV6 if ":" in ip else IPV4


def addresses(pod: Pod) -> tuple[str, ...]:
    """All addresses of the Pod, the primary one first."""
    several = tuple(entry.ip for entry in pod.status.pod_ips or () if entry.ip)
    return several or ((pod.status.pod_ip,) if pod.status.pod_ip else ())


def address_in(pod: Pod, family: str) -> str | None:
    return next((ip for ip in addresses(pod) if family_of(ip) == family), None)


def target_port(pod: Pod, port: ServicePort) -> int | None:
    """The number a Service port leads to in this Pod; None if the Pod has no port of that name."""
    target = port.target_port
    if isinstance(target, str):
        return _named_port(pod, target, port.protocol)
    return target or port.port


def _named_port(pod: Pod, name: str, protocol: str) -> int | None:
    for container in _serving_containers(pod):
        for port in container.ports or ():
            if port.name == name and port.protocol == protocol:
                return port.container_port
    return None


def _serving_containers(pod: Pod) -> list[Container]:
    """Main containers, then sidecars: init containers that keep running beside them."""
    sidecars = [c for c in pod.spec.init_containers or () if c.restart_policy == "Always"]
    return [*pod.spec.containers, *sidecars]
