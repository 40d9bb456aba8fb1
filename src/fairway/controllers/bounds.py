"""How many Pods a rolling update may have too many or too few, from numbers or percentages."""

from __future__ import annotations

import math

from fairway.controllers.workloads import Deployment, RollingUpdateDeployment


def max_surge(deployment: Deployment) -> int:
    return _bounds(deployment)[0]


def max_unavailable(deployment: Deployment) -> int:
    return min(_bounds(deployment)[1], deployment.spec.replicas)


def scaled(value: int | str, total: int, *, up: bool) -> int:
    """`25%` of a total, rounded up or down; a plain number stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        share = int(value.rstrip("%")) * total / 100
    except ValueError:
        return 0
    return math.ceil(share) if up else math.floor(share)


def _bounds(deployment: Deployment) -> tuple[int, int]:
    """Surge and unavailable; never both zero, or nothing could ever move."""
    strategy = deployment.spec.strategy
    if strategy.type != "RollingUpdate" or deployment.spec.replicas == 0:
        return 0, 0
    rolling = strategy.rolling_update or RollingUpdateDeployment()
    surge = scaled(_or_quarter(rolling.max_surge), deployment.spec.replicas, up=True)
    gap = scaled(_or_quarter(rolling.max_unavailable), deployment.spec.replicas, up=False)
    return (surge, gap) if surge or gap else (0, 1)


def _or_quarter(value: int | str | None) -> int | str:
    return "25%" if value is None else value
