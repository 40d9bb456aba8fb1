"""From a decision to patches: what to write to a Service, and in which order. Pure.

The finalizer is there before an address is and goes after it, so that no Service disappears with one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from fairway.api.objects import Condition
from fairway.lb.allocation.model import Request
from fairway.lb.allocation.plan import ALLOCATED, Outcome
from fairway.lb.objects import CONDITION, FINALIZER, Service

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Notice:
    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Writes:
    """Merge patches, the metadata first unless `last`; None where nothing is to be done."""

    metadata: Json | None = None
    status: Json | None = None
    metadata_last: bool = False
    notice: Notice | None = None

    def __bool__(self) -> bool:
        return self.metadata is not None or self.status is not None


def provide(service: Service, request: Request, outcome: Outcome, now: str) -> Writes:
    """Bring a Service of ours to what was decided for it."""
    mode = "Proxy" if request.proxied else "VIP"
    ingress = [{"ip": str(address), "ipMode": mode} for address in outcome.addresses]
    condition = _condition(service, outcome, now)
    held = [
        {"ip": p.ip, "ipMode": p.ip_mode or "VIP"} for p in service.status.load_balancer.ingress or () if p.ip
    ]
    finalizers = service.metadata.finalizers or []
    metadata = None if FINALIZER in finalizers else {"finalizers": [*finalizers, FINALIZER]}
    if held == ingress and condition == service.condition:
        return Writes(metadata)
    status: Json = {"loadBalancer": {"ingress": ingress or None}, "conditions": _merged(service, condition)}
    return Writes(metadata, status, notice=_notice(service, outcome, condition))


def release(service: Service, ours: bool = False) -> Writes:
    """Take back what we gave. A Service that isn't ours, and doesn't say that it was, is left alone."""
    finalizers = service.metadata.finalizers or []
    if FINALIZER not in finalizers or not (ours or service.condition):
        return Writes()
    metadata: Json = {"finalizers": [name for name in finalizers if name != FINALIZER]}
    status: Json = {"loadBalancer": {"ingress": None}, "conditions": _merged(service, None)}
    notice = Notice("AddressReleased", f"{', '.join(service.addresses)} is free again")
    return Writes(metadata, status, True, notice if service.addresses else None)


def _condition(service: Service, outcome: Outcome, now: str) -> Condition:
    status = "True" if outcome.reason == ALLOCATED else "False"
    before = service.condition
    since = before.last_transition_time if before and before.status == status else now
    return Condition(
        type=CONDITION,
        status=status,
        reason=outcome.reason,
        message=outcome.message,
        last_transition_time=since,
    )


def _merged(service: Service, ours: Condition | None) -> list[Json] | None:
    others = [c for c in service.status.conditions or () if c.type != CONDITION]
    # Kubernetes requires a message, if only an empty one; the view leaves empty ones out.
    full = [{"message": ""} | msgspec.to_builtins(c) for c in [*others, *([ours] if ours else [])]]
    return full or None


def _notice(service: Service, outcome: Outcome, condition: Condition) -> Notice | None:
    if outcome.reason != ALLOCATED:
        same = service.condition is not None and service.condition.message == condition.message
        return None if same else Notice(outcome.reason, outcome.message, warning=True)
    addresses = tuple(str(address) for address in outcome.addresses)
    if addresses == service.addresses:
        return None
    return Notice("AddressAssigned", f"assigned {', '.join(addresses)}")
