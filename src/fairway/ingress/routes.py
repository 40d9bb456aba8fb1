"""Hosts and their routes, and which of them a request takes. Pure.

The precedence is Kubernetes': an exact host before a wildcard before none; an exact path before the longest
prefix, element by element. Of two Ingresses that claim the same, the older has its way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from fairway.ingress.annotations import Canary, Options

EXACT, PREFIX, REGEX = "exact", "prefix", "regex"


class Alternative(msgspec.Struct, frozen=True, omit_defaults=True):
    """A canary's backend for the same route."""

    backend: str
    canary: Canary


class Route(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happens to requests for a path."""

    path: str
    type: str
    backend: str
    ingress: str
    options: Options = Options()
    alternatives: tuple[Alternative, ...] = ()
    tls: bool = False
    auth_file: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def claim(self) -> tuple[str, str]:
        return self.path, self.type


class Host(msgspec.Struct, frozen=True, omit_defaults=True):
    """All routes of one host name, the ones to be tried first in front."""

    routes: tuple[Route, ...] = ()


def precedence(route: Route) -> tuple[int, int, str]:
    rank = {EXACT: 0, REGEX: 1, PREFIX: 2}[route.type]
    # A host with regular expressions is matched longest first, as ingress-nginx does.
    return rank, -len(route.path.rstrip("/")) if route.type == PREFIX else -len(route.path), route.path


def in_order(claims: Iterable[Route]) -> tuple[Route, ...]:
    """Routes as they are tried; `claims` come oldest Ingress first, and the first claim of a path counts."""
    first: dict[tuple[str, str], Route] = {}
    for route in claims:
        first.setdefault(route.claim, route)
    return tuple(sorted(first.values(), key=precedence))


def candidates(host: str) -> tuple[str, ...]:
    """The names under which a host's routes may be found, best first."""
    name = host.lower().rstrip(".")
    _, dot, rest = name.partition(".")
    return (name, f"*.{rest}", "") if dot and rest else (name, "")


def matches(route: Route, path: str) -> bool:
    match route.type:
        case "exact":
            return path == route.path
        case "regex":
            return re.match(route.path, path, re.IGNORECASE) is not None
        case _:
            stem = route.path.rstrip("/")
            return path == stem or path.startswith(f"{stem}/") or not stem


def choose(routes: Sequence[Route], path: str) -> Route | None:
    return next((route for route in routes if matches(route, path)), None)
