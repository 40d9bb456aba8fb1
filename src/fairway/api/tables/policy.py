"""Rows of the kinds that say who may do what and how much: PodDisruptionBudget, role bindings, Lease.

Roles have no columns of their own; they print as any other kind does.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from fairway.api.tables.column import AGE, NAME, WIDE, Column, Printer, Printers, documented
from fairway.api.tables.durations import age
from fairway.api.tables.reading import Object, at, entries, name_of, number, text

RBAC: Final = "rbac.authorization.k8s.io"


def disruption_budget_cells(budget: Object, now: datetime) -> list[Any]:
    return [
        name_of(budget),
        bound(at(budget, "spec", "minAvailable")),
        bound(at(budget, "spec", "maxUnavailable")),
        number(budget, "status", "disruptionsAllowed"),
        age(budget, now),
    ]


def bound(value: int | str | None) -> str:
    """A number of Pods or a percentage."""
    return "N/A" if value is None else str(value)


def lease_cells(lease: Object, now: datetime) -> list[Any]:
    return [name_of(lease), text(lease, "spec", "holderIdentity"), age(lease, now)]


def binding_cells(binding: Object, now: datetime) -> list[Any]:
    return [
        name_of(binding),
        f"{text(binding, 'roleRef', 'kind')}/{text(binding, 'roleRef', 'name')}",
        age(binding, now),
        *(", ".join(subjects(binding, kind)) for kind in ("User", "Group", "ServiceAccount")),
    ]


def subjects(binding: Object, kind: str) -> list[str]:
    """Names of the subjects of one kind; only service accounts have a namespace."""
    found = [subject for subject in entries(binding, "subjects") if subject.get("kind") == kind]
    if kind == "ServiceAccount":
        return [f"{text(subject, 'namespace')}/{text(subject, 'name')}" for subject in found]
    return [text(subject, "name") for subject in found]


def binding_columns(kind: str) -> tuple[Column, ...]:
    return (
        NAME,
        documented("Role", f"{kind}.roleRef"),
        AGE,
        Column("Users", f"Users in the {kind[0].lower()}{kind[1:]}", priority=WIDE),
        Column("Groups", f"Groups in the {kind[0].lower()}{kind[1:]}", priority=WIDE),
        Column("ServiceAccounts", f"ServiceAccounts in the {kind[0].lower()}{kind[1:]}", priority=WIDE),
    )


PRINTERS: Final[Printers] = {
    ("policy", "PodDisruptionBudget"): Printer(
        (
            NAME,
            Column("Min Available", "The minimum number of pods that must be available."),
            Column("Max Unavailable", "The maximum number of pods that may be unavailable."),
            Column(
                "Allowed Disruptions",
                "Calculated number of pods that may be disrupted at this time.",
                type="integer",
            ),
            AGE,
        ),
        disruption_budget_cells,
    ),
    ("coordination.k8s.io", "Lease"): Printer(
        (NAME, documented("Holder", "LeaseSpec.holderIdentity"), AGE), lease_cells
    ),
    (RBAC, "RoleBinding"): Printer(binding_columns("RoleBinding"), binding_cells),
    (RBAC, "ClusterRoleBinding"): Printer(binding_columns("ClusterRoleBinding"), binding_cells),
}
