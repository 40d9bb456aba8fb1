"""The words inside a strategic merge patch that are orders and not data, and complaints about them.

Some complaints are answers of status 500 in Kubernetes, and are so here: clients know the texts.
"""

from __future__ import annotations

from typing import Any

from fairway.api.patches.document import Json, PatchError, go_text, json_type

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM_LIST = "$deleteFromPrimitiveList/"
SET_ORDER = "$setElementOrder/"

BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
BAD_PRIMITIVE_LIST = "invalid patch format of primitive list"


def replacement(patch: dict[str, Any]) -> dict[str, Any]:
    """What `$patch` inside an object makes of that object."""
    match patch[PATCH]:
        case "replace":
            return without_directives({key: value for key, value in patch.items() if key != PATCH}) or {}
        case "delete":
            return {}
        case unknown:
            raise unknown_directive(unknown, patch)


def without_directives(value: Json) -> Json:
    """A part of the patch that has no counterpart to merge with: just its data, without nulls."""
    if isinstance(value, list):
        return [without_directives(item) for item in value if not (isinstance(item, dict) and PATCH in item)]
    if not isinstance(value, dict):
        return value
    if PATCH in value:
        return replacement(value)
    return {
        key: without_directives(item)
        for key, item in value.items()
        if item is not None and not is_directive(key)
    }


def is_directive(key: str) -> bool:
    return key == RETAIN_KEYS or key.startswith((DELETE_FROM_LIST, SET_ORDER))


def failure(message: str) -> PatchError:
    return PatchError(500, "", message)


def unknown_directive(directive: Json, patch: Json) -> PatchError:
    return failure(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def no_merge_key(item: Json, key: str) -> PatchError:
    return failure(f"map: {go_text(item)} does not contain declared merge key: {key}")


def wrong_type(expected: str, value: Json) -> PatchError:
    return failure(f"expected a {expected}, but received a {_GO_TYPES[json_type(value)]}")


_GO_TYPES = {
    "null": "%!s(<nil>)",
    "bool": "bool",
    "number": "int64",
    "string": "string",
    "array": "[]interface {}",
    "object": "map[string]interface {}",
}
