"""How the controllers are started."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class UnknownController(ValueError):
    """A name in `--controllers` that no controller has."""


@dataclass(frozen=True, slots=True)
class Election:
    """Several processes, one at work: through which Lease, and how patiently. Times are in seconds."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    name: str = "fairway-controllers"
    namespace: str = "kube-system"


@dataclass(frozen=True, slots=True)
class Config:
    """`controllers` is kube-controller-manager's list: `*` for all, `name` to add, `-name` to leave out.

    Without a kubeconfig the API server is looked for as kubectl does, or as Pods do.
    """

    kubeconfig: Path | None = None
    controllers: tuple[str, ...] = ("*",)
    leader_elect: bool = False
    identity: str = ""
    root_ca_file: Path | None = None
    election: Election = Election()
    node_monitor_period: float = 5.0
    node_monitor_grace_period: float = 50.0
    terminated_pod_gc_threshold: int = 12_500


def chosen(selection: Iterable[str], known: Iterable[str]) -> list[str]:
    """The controllers a list asks for, in the order in which they are known."""
    listed, names = list(selection), list(known)
    for entry in listed:
        if entry != "*" and entry.removeprefix("-") not in names:
            raise UnknownController(f"{entry!r} is not a controller; there are {', '.join(names)}")
    everything = "*" in listed
    return [n for n in names if f"-{n}" not in listed and (everything or n in listed)]
