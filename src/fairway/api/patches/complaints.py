"""What strict reading complains of in a patch itself: members given twice, and unknown words in a JSON patch.

Unknown fields of the patched object are found later, when it is read as what it should be.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairway.api.patches.document import Json
from fairway.api.schema.json_body import decode_members, has_repeated_members
from fairway.api.schema.strict import repeated_members

_OPERATION = ("op", "path", "from", "value")


def patch_complaints(body: bytes, patch: Json, *, operations: bool) -> list[str]:
    """`operations`: whether the patch is a list of operations on the object, or shaped as the object is."""
    found = list(_unknown_words(patch)) if operations else []
    if has_repeated_members(body, patch):
        written = decode_members(body)
        found += repeated_members(written)
    return [f"json patch {each}" for each in found] if operations else found


def _unknown_words(patch: Json) -> Iterator[str]:
    for index, operation in enumerate(patch if isinstance(patch, list) else ()):
        for name in operation if isinstance(operation, dict) else ():
            if name not in _OPERATION:
                yield f'unknown field "[{index}].{name}"'
