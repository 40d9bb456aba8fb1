"""Printing on the server's side: objects as rows with the columns that `kubectl get` shows.

One module per group of kinds; everything is a pure function of an object and the time.
"""

from fairway.api.tables.column import Column
from fairway.api.tables.table import (
    IncludeObject,
    TableStream,
    columns_of,
    partial_object_metadata,
    row_cells,
    table,
)

__all__ = [
    "Column",
    "IncludeObject",
    "TableStream",
    "columns_of",
    "partial_object_metadata",
    "row_cells",
    "table",
]
