"""Pod disruption budgets."""

from __future__ import annotations

from fairway.api.kind import Kind, Status
from fairway.api.resources import POD_DISRUPTION_BUDGETS

POD_DISRUPTION_BUDGET = Kind(
    POD_DISRUPTION_BUDGETS, status=Status(), generation=True, unconditional_update=False
)
