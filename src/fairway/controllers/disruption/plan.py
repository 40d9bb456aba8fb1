"""The status of one PodDisruptionBudget, which evictions are granted by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairway.api.objects import ObjectMeta, Pod, View
from fairway.api.resources import POD_DISRUPTION_BUDGETS
from fairway.api.timestamps import seconds, stamp
from fairway.controllers.bounds import scaled
from fairway.controllers.pods import is_ready, is_terminating
from fairway.controllers.selectors import LabelSelector
from fairway.controllers.workloads import status_changes
from fairway.controllers.writes import Notice, Patch, Plan

CONDITION = "DisruptionAllowed"
DELETION_WITHIN = 120.0  # an eviction that was granted but shows no deletion by then did not happen
ALWAYS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class BudgetCondition(View, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int = 0


class BudgetSpec(View, frozen=True):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetStatus(View, frozen=True):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    disrupted_pods: dict[str, str] | None = None
    conditions: list[BudgetCondition] | None = None


class Budget(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


@dataclass(frozen=True, slots=True)
class Scale:
    """How many Pods the owners of a budget's Pods ask for; or why that can't be said."""

    total: int = 0
    unmanaged: tuple[str, ...] = ()
    failure: str = ""


def plan(budget: Budget, pods: Sequence[Pod], scale: Scale, now: float) -> Plan:
    """Pods: those the budget selects."""
    disrupted, recheck = _still_awaited(budget, pods, now)
    expected, desired = _wanted(budget, pods, scale)
    if scale.failure and _needs_scale(budget):
        return _written(budget, _failed(budget, scale.failure, now), None)
    healthy = sum(
        is_ready(pod) and not is_terminating(pod) and pod.metadata.name not in disrupted for pod in pods
    )
    allowed = max(0, healthy - desired) if expected > 0 else 0
    verdict = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    status = BudgetStatus(
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        observed_generation=budget.metadata.generation,
        disrupted_pods=disrupted or None,
        conditions=_conditions(budget, *verdict, "", now),
    )
    return _written(budget, status, recheck, _unmanaged(budget, scale))


def _needs_scale(budget: Budget) -> bool:
    return budget.spec.max_unavailable is not None or isinstance(budget.spec.min_available, str)


def _wanted(budget: Budget, pods: Sequence[Pod], scale: Scale) -> tuple[int, int]:
    """How many Pods there should be, and how many of them have to be well."""
    if budget.spec.max_unavailable is not None:
        gap = scaled(budget.spec.max_unavailable, scale.total, up=True)
        return scale.total, max(0, scale.total - gap)
    if isinstance(budget.spec.min_available, str):
        return scale.total, scaled(budget.spec.min_available, scale.total, up=True)
    if budget.spec.min_available is not None:
        return len(pods), budget.spec.min_available
    return 0, 0


def _still_awaited(budget: Budget, pods: Iterable[Pod], now: float) -> tuple[dict[str, str], float | None]:
    """Evictions that were granted and not yet seen, and when the first of them has to be given up."""
    present: Mapping[str, Pod] = {pod.metadata.name: pod for pod in pods}
    awaited: dict[str, str] = {}
    due: list[float] = []
    for name, granted in (budget.status.disrupted_pods or {}).items():
        end = (seconds(granted) or 0) + DELETION_WITHIN
        if name in present and not is_terminating(present[name]) and end > now:
            awaited[name] = granted
            due.append(end - now)
    return awaited, min(due, default=None)


def _conditions(budget: Budget, status: str, reason: str, message: str, now: float) -> list[BudgetCondition]:
    before = next((c for c in budget.status.conditions or () if c.type == CONDITION), None)
    same = before is not None and before.status == status
    since = before.last_transition_time if before is not None and same else stamp(now)
    others = [c for c in budget.status.conditions or () if c.type != CONDITION]
    generation = budget.metadata.generation
    return [*others, BudgetCondition(CONDITION, status, reason, message, since, generation)]


def _failed(budget: Budget, why: str, now: float) -> BudgetStatus:
    """Nothing may go while it can't be told how many there should be."""
    before = budget.status
    return BudgetStatus(
        disruptions_allowed=0,
        current_healthy=before.current_healthy,
        desired_healthy=before.desired_healthy,
        expected_pods=before.expected_pods,
        observed_generation=before.observed_generation,
        disrupted_pods=before.disrupted_pods,
        conditions=_conditions(budget, "False", "SyncFailed", why, now),
    )


def _unmanaged(budget: Budget, scale: Scale) -> tuple[Notice, ...]:
    if not scale.unmanaged or not _needs_scale(budget):
        return ()
    chosen = _shown(budget.spec.selector)
    text = (
        f"Pods selected by this PodDisruptionBudget (selector: {chosen}) were found to be"
        " unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in"
        ' undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to'
        " an integer value."
    )
    return (Notice("UnmanagedPods", text, warning=True),)


def _shown(selector: LabelSelector | None) -> str:
    labels = (selector.match_labels if selector else None) or {}
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


def _written(
    budget: Budget, status: BudgetStatus, recheck: float | None, notices: tuple[Notice, ...] = ()
) -> Plan:
    changes = status_changes(budget.status, status, always=ALWAYS)
    if not changes:
        return Plan(look_again=recheck)
    if gone := (budget.status.disrupted_pods or {}).keys() - (status.disrupted_pods or {}).keys():
        kept = status.disrupted_pods or {}
        changes["disruptedPods"] = {**kept, **dict.fromkeys(gone)} if kept else None
    meta = budget.metadata
    patch = {"metadata": {"resourceVersion": meta.resource_version}, "status": changes}
    write = Patch(POD_DISRUPTION_BUDGETS, meta.namespace, meta.name, patch, "status")
    return Plan((write,), notices, recheck)
