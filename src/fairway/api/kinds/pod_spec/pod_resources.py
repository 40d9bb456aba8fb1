"""Requests and limits of a whole Pod: what its containers add up to, and what is left to be filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairway.api.kind import Obj
from fairway.api.schema.quantity import total, value_of

Amounts = Mapping[str, str]


def is_sidecar(container: Obj) -> bool:
    return container.get("restartPolicy") == "Always"


def aggregate(spec: Obj, part: str) -> dict[str, str]:
    """Requests or limits of all containers together: regular ones and sidecars run at once, init containers
    one after the other, each beside the sidecars that have started before it."""
    running: dict[str, str] = {}
    for container in spec.get("containers") or ():
        _add(running, _amounts(container, part))
    sidecars: dict[str, str] = {}
    peak: dict[str, str] = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, part)
        if is_sidecar(container):
            _add(running, amounts)
            _add(sidecars, amounts)
            _raise(peak, sidecars)
        else:
            together = dict(amounts)
            _add(together, sidecars)
            _raise(peak, together)
    _raise(running, peak)
    return running


def default_pod_resources(spec: Obj) -> None:
    """What only Pods have filled in: requests from limits, the Pod's own from its containers'."""
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        _requests_from_limits(container["resources"])
    if resources := spec.get("resources"):
        _huge_page_limits(spec, resources)
        _own_requests(spec, resources)
        _own_limits(spec, resources)


def is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or is_huge_page(name)


def _requests_from_limits(resources: Obj) -> None:
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _huge_page_limits(spec: Obj, resources: Obj) -> None:
    if not (resources.get("limits") or resources.get("requests")):
        return
    missing = {
        name: amount
        for name, amount in aggregate(spec, "limits").items()
        if is_huge_page(name)
        and name not in (resources.get("requests") or {})
        and name not in (resources.get("limits") or {})
    }
    if missing:
        resources["limits"] = {**(resources.get("limits") or {}), **missing}


def _own_requests(spec: Obj, resources: Obj) -> None:
    limits = resources.get("limits")
    if not limits:
        return
    requests = dict(resources.get("requests") or {})
    for name, amount in aggregate(spec, "requests").items():
        if is_pod_level(name) and not is_huge_page(name):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, amount)
    if requests:
        resources["requests"] = requests


def _own_limits(spec: Obj, resources: Obj) -> None:
    """Only where every container is limited, for otherwise the sum says nothing."""
    if any(map(is_pod_level, resources.get("limits") or ())):
        return
    if not any(map(is_pod_level, resources.get("requests") or ())):
        return
    limits = dict(resources.get("limits") or {})
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for name, amount in aggregate(spec, "limits").items():
        if name in ("cpu", "memory") and all(name in _amounts(each, "limits") for each in containers):
            limits.setdefault(name, amount)
    if limits:
        resources["limits"] = limits


def _amounts(container: Obj, part: str) -> Amounts:
    return (container.get("resources") or {}).get(part) or {}


def _add(sums: dict[str, str], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        sums[name] = total((sums[name], amount)) if name in sums else amount


def _raise(highest: dict[str, str], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        if name not in highest or value_of(amount) > value_of(highest[name]):
            highest[name] = amount


def qos_class(spec: Obj) -> str:
    """BestEffort without requests or limits, Guaranteed where all are equal, else Burstable."""
    own = spec.get("resources") or {}
    if any(map(is_pod_level, [*(own.get("requests") or ()), *(own.get("limits") or ())])):
        return _class_of([own])
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return _class_of([container.get("resources") or {} for container in containers])


def _class_of(resources: Iterable[Obj]) -> str:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    guaranteed = True
    for each in resources:
        _add(requests, _positive(each.get("requests")))
        found = _positive(each.get("limits"))
        _add(limits, found)
        guaranteed = guaranteed and len(found) == 2
    if not requests and not limits:
        return "BestEffort"
    same = len(requests) == len(limits) and all(
        name in limits and value_of(limits[name]) == value_of(amount) for name, amount in requests.items()
    )
    return "Guaranteed" if guaranteed and same else "Burstable"


def _positive(amounts: Amounts | None) -> dict[str, str]:
    """What classes count: processor and memory, if any is asked for."""
    return {
        name: amount
        for name, amount in (amounts or {}).items()
        if name in ("cpu", "memory") and value_of(amount) > 0
    }
