"""How Go complains when it makes a typed object of plain maps, as after a strategic merge patch.

The faults are those that `conform` finds; only their words are others than a JSON decoder's.
"""

from __future__ import annotations

from typing import Final

from fairway.api.schema.values import Mismatch, Undecodable

_KINDS: Final = {"object": "map", "array": "slice"}
_TYPES: Final = {"object": "map[string]interface {}", "array": "[]interface {}"}


def conversion_fault(error: Undecodable) -> str:
    if not isinstance(error, Mismatch):
        return str(error)
    given = _given(error)
    kind = _KINDS.get(given, given)
    if error.go.startswith("map["):
        return f"cannot restore map from {kind}"
    if error.go.startswith("[]"):
        return f"cannot restore slice from {kind}"
    if error.is_struct:
        return f"cannot restore struct from: {kind}"
    return f"cannot convert {_TYPES.get(given, given)} to {error.go}"


def _given(error: Mismatch) -> str:
    if error.kind.startswith("number"):
        return "float64" if error.is_float else "int64"
    return error.kind
