"""What a Pod asks a node for (CPU, memory and whatever else has a name), and whether there is enough left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal

from fairway.api.objects import Container, PodSpec
from fairway.api.schema.quantity import value_of

Amounts = dict[str, Decimal]

# Every node has these; one that does not say how much of them is not held to any amount.
BASIC = frozenset(("cpu", "memory", "ephemeral-storage"))


def lacking(wanted: PodSpec, present: Iterable[PodSpec], allocatable: Mapping[str, str]) -> list[str]:
    """The resources of which a node has too little left for one more Pod."""
    counted = {*allocatable, *(name for name in requested(wanted) if name not in BASIC)}
    asked = {name: amount for name, amount in requested(wanted).items() if amount > 0 and name in counted}
    if not asked:
        return []
    taken: Counter[str] = Counter()
    for spec in present:
        taken.update(requested(spec))
    return sorted(
        name for name, amount in asked.items() if amount > value_of(allocatable.get(name, "0")) - taken[name]
    )


def requested(spec: PodSpec) -> Amounts:
    """All containers together or, if that is more, the greediest moment of their start; and the overhead.

    Init containers run one after the other, beside the sidecars started before them. What the Pod asks for
    as a whole counts instead of what its containers do.
    """
    running: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers or ():
        if container.restart_policy == "Always":
            running = _sum(running, _of(container))
            peak = _greatest(peak, running)
        else:
            peak = _greatest(peak, _sum(running, _of(container)))
    for container in spec.containers:
        running = _sum(running, _of(container))
    whole = _amounts(spec.resources.requests if spec.resources else None)
    return _sum({**_greatest(peak, running), **whole}, _amounts(spec.overhead))


def _of(container: Container) -> Amounts:
    return _amounts(container.resources.requests if container.resources else None)


def _amounts(texts: Mapping[str, str] | None) -> Amounts:
    return {name: value_of(text) for name, text in texts.items()} if texts else {}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, Decimal(0)) + other.get(name, Decimal(0)) for name in one | other}


def _greatest(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, Decimal(0)), other.get(name, Decimal(0))) for name in one | other}
