"""What the validation of one part of a Pod's spec has to know of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairway.api.kind import Obj


@dataclass(slots=True)
class ClusterPolicy:
    """What the server was told on start that validation asks about (`--allow-privileged`)."""

    allow_privileged: bool = False


CLUSTER_POLICY = ClusterPolicy()


@dataclass(frozen=True, slots=True)
class Scope:
    """The surroundings of a container."""

    is_pod: bool = False
    """A Pod itself, not a template of one."""
    volumes: Mapping[str, Obj] = field(default_factory=dict)
    """The valid volumes by name."""
    claims: frozenset[str] = frozenset()
    grace: int | None = None
    restart_policy: str = ""
    host_users: bool = True
    os: str | None = None
