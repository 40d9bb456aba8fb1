"""Cuts the endpoints of one port group into slices with as few writes as possible.

Slices are shared with every node, so a write costs far more than a half-empty slice: what already stands in
a slice stays there, and new endpoints go first into slices that have to be written anyway.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairway.api.objects import Endpoint, EndpointSlice
from fairway.controllers.slices import Identity, identity


@dataclass(frozen=True, slots=True)
class Packing:
    """`filled` pairs every slice that goes on existing with its endpoints; `fresh` are new slices."""

    filled: tuple[tuple[EndpointSlice, tuple[Endpoint, ...]], ...]
    fresh: tuple[tuple[Endpoint, ...], ...]
    emptied: tuple[EndpointSlice, ...]


@dataclass(slots=True)
class _Slot:
    base: EndpointSlice | None
    endpoints: list[Endpoint]
    written: bool


def pack(
    existing: Iterable[EndpointSlice], desired: Iterable[Endpoint], limit: int, relabelled: frozenset[str]
) -> Packing:
    """`relabelled` names slices that will be written for their labels' sake."""
    waiting = {identity(endpoint): endpoint for endpoint in desired}
    slots, emptied = [], []
    for base in existing:
        endpoints = _still_wanted(base, waiting)
        if not endpoints:
            emptied.append(base)
            continue
        changed = not _unchanged(base, endpoints) or base.metadata.name in relabelled
        slots.append(_Slot(base, endpoints, changed))
    _fill(slots, list(waiting.values()), limit)
    return Packing(
        filled=tuple((slot.base, tuple(slot.endpoints)) for slot in slots if slot.base is not None),
        fresh=tuple(tuple(slot.endpoints) for slot in slots if slot.base is None),
        emptied=tuple(emptied),
    )


def _still_wanted(base: EndpointSlice, waiting: dict[Identity, Endpoint]) -> list[Endpoint]:
    """The slice's endpoints as they should be now; each is taken from `waiting`, so none is listed twice."""
    kept = []
    for endpoint in base.endpoints or ():
        wanted = waiting.pop(identity(endpoint), None)
        if wanted is not None:
            kept.append(wanted)
    return kept


def _unchanged(base: EndpointSlice, endpoints: list[Endpoint]) -> bool:
    # Hints are decided after packing, over all slices together.
    return [_without_hints(e) for e in base.endpoints or ()] == endpoints


def _without_hints(endpoint: Endpoint) -> Endpoint:
    return Endpoint(
        endpoint.addresses,
        endpoint.conditions,
        endpoint.hostname,
        endpoint.node_name,
        endpoint.zone,
        endpoint.target_ref,
    )


def _fill(slots: list[_Slot], waiting: list[Endpoint], limit: int) -> None:
    for slot in sorted((s for s in slots if s.written), key=lambda s: -len(s.endpoints)):
        _top_up(slot, waiting, limit)
    slots += _dealt(waiting, limit)
    while waiting:
        fitting = _closest_fit(slots, len(waiting), limit)
        if fitting is None:
            fitting = _Slot(None, [], written=True)
            slots.append(fitting)
        _top_up(fitting, waiting, limit)


def _dealt(waiting: list[Endpoint], limit: int) -> list[_Slot]:
    """As many full slices as there are endpoints for, dealt like cards.

    Pods that came together often go together: dealt, they leave every slice a little emptier, in a row they
    would leave one of them nearly empty.
    """
    full = len(waiting) // limit
    dealt = [waiting[start : full * limit : full] for start in range(full)]
    del waiting[: full * limit]
    return [_Slot(None, endpoints, written=True) for endpoints in dealt]


def _closest_fit(slots: list[_Slot], count: int, limit: int) -> _Slot | None:
    """Of the unwritten slices that hold all that is left, the one it fills most."""
    fitting = [slot for slot in slots if not slot.written and len(slot.endpoints) + count <= limit]
    return max(fitting, key=lambda slot: len(slot.endpoints), default=None)


def _top_up(slot: _Slot, waiting: list[Endpoint], limit: int) -> None:
    room = max(0, limit - len(slot.endpoints))
    if room and waiting:
        slot.endpoints.extend(waiting[:room])
        del waiting[:room]
        slot.written = True
