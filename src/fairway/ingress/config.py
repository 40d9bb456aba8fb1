"""What the ingress controller is told on start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CONTROLLER = "fairway.dev/ingress"


@dataclass(frozen=True, slots=True)
class Config:
    data: Path
    """Where nginx's files lie: its configuration, socket, password files, default certificate."""
    kubeconfig: Path | None = None
    """None: as kubectl looks for it."""
    controllers: frozenset[str] = frozenset({CONTROLLER})
    """The IngressClasses of these controllers are ours."""
    watch_without_class: bool = False
    """Whether Ingresses without any class are ours even if no class is the default one."""
    bind: tuple[str, ...] = ("0.0.0.0", "[::]")
    http_port: int = 80
    https_port: int = 443
    status_port: int = 10254
    """Health and metrics."""
    workers: int = 0
    """Processes of nginx; 0 means one for each processor."""
    publish_service: str = ""
    """namespace/name of the Service whose addresses are written into every Ingress's status."""
    publish_addresses: tuple[str, ...] = ()
    user: str = "nobody"
    """Whom nginx's workers run as, if we are root."""
    nginx: str = "nginx"
