"""Fields that an apply would change although others own them: the 409 that names them all."""

from __future__ import annotations

from collections.abc import Mapping

from fairway.api.apply.elements import path_text
from fairway.api.apply.fieldset import FieldSet, paths
from fairway.api.apply.owners import Owner
from fairway.api.errors import StatusError


class Conflicts(StatusError):
    """Apply refused; `sets` says what is contested with whom."""

    def __init__(self, sets: Mapping[Owner, FieldSet]) -> None:
        self.sets = sets
        found = [
            (owner, path_text(path))
            for owner in sorted(sets, key=lambda owner: owner.identity)
            for path in paths(sets[owner])
        ]
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {owner}", "field": path}
            for owner, path in found
        ]
        super().__init__(409, "Conflict", _message(found), {"causes": causes})


def _message(found: list[tuple[Owner, str]]) -> str:
    if len(found) == 1:
        owner, path = found[0]
        return f"Apply failed with 1 conflict: conflict with {owner}: {path}"
    lines = []
    last = None
    for owner, path in found:
        if owner != last:
            lines.append(f"conflicts with {owner}:")
            last = owner
        lines.append(f"- {path}")
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
