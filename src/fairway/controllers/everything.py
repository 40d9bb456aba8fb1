"""The resources that controllers of all objects (garbage collection, namespaces) go through."""

from __future__ import annotations

from functools import cache

from fairway.api import resources
from fairway.api.resources import EVENTS, EVENTS_V1, Resource

# Events are written by the thousand and expire by themselves; nothing owns them and they own nothing.
UNOWNED = (EVENTS, EVENTS_V1)


@cache
def all_resources() -> tuple[Resource, ...]:
    return tuple(value for value in vars(resources).values() if isinstance(value, Resource))


@cache
def namespaced_resources() -> tuple[Resource, ...]:
    """One name for each kind of object: `events.k8s.io` shows the same Events again."""
    return tuple(r for r in all_resources() if r.namespaced and r != EVENTS_V1)


@cache
def collectable_resources() -> tuple[Resource, ...]:
    return tuple(r for r in all_resources() if r not in UNOWNED)
