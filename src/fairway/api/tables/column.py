"""What a column and a printer are, and the columns that many kinds share.

A printer turns an object of one kind into the cells of its row. The printers themselves are in the modules of
the kinds, each of which offers a mapping `PRINTERS` from (group, kind).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fairway.api.tables.field_docs import FIELD_DOCS
from fairway.api.tables.reading import Object

NONE: Final = "<none>"
WIDE: Final = 1


@dataclass(frozen=True, slots=True)
class Column:
    """One column definition. Columns of priority WIDE are shown by `kubectl get -o wide` only."""

    name: str
    description: str
    type: str = "string"
    priority: int = 0
    format: str = ""

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def documented(
    name: str, field: str, *, value_type: str = "string", priority: int = 0, value_format: str = ""
) -> Column:
    """A column that shows a field and takes its description from there."""
    return Column(name, FIELD_DOCS[field], value_type, priority, value_format)


Cells = Callable[[Object, datetime], list[Any]]
Conditions = Callable[[Object], list[dict[str, str]]]


@dataclass(frozen=True, slots=True)
class Printer:
    """How the objects of one kind become rows.

    Kubernetes keeps a few annotations in fields of its own while it works, so that rows don't show them:
    these are `hidden_annotations`.
    """

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Conditions | None = None
    hidden_annotations: frozenset[str] = frozenset()


Printers = Mapping[tuple[str, str], Printer]

NAME: Final = documented("Name", "ObjectMeta.name", value_format="name")
AGE: Final = documented("Age", "ObjectMeta.creationTimestamp")
CONTAINERS: Final = Column("Containers", "Names of each container in the template.", priority=WIDE)
IMAGES: Final = Column("Images", "Images referenced by each container in the template.", priority=WIDE)
