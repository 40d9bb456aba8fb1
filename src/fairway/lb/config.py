"""How the load balancer is started."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Terms:
    """How an address is held. A holder falls silent `margin` seconds before others may take over."""

    duration: int = 1
    margin: float = 0.2
    renewals: float = 4.0

    @property
    def renew_every(self) -> float:
        return self.duration / self.renewals


@dataclass(frozen=True, slots=True)
class Config:
    """`node` and `interface` are the speaker's. `data` is the balancer's; its user must reach it."""

    kubeconfig: Path | None = None
    controller: bool = True
    speaker: bool = True
    node: str = ""
    interface: str = ""
    default_class: bool = True
    leader_elect: bool = True
    terms: Terms = field(default_factory=Terms)
    balancer: bool = True
    data: Path = Path("/run/fairway-lb")
    balancer_ports: tuple[int, int] = (21000, 21999)
    cluster_cidr: tuple[str, ...] = ()
