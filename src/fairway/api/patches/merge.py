"""JSON merge patch (RFC 7386): objects merge, null removes, everything else replaces."""

from __future__ import annotations

from fairway.api.patches.document import Json, PatchError, cannot_unmarshal, clone


def merge_patch(document: Json, patch: Json) -> Json:
    """A patch of an API object must be an object itself."""
    if patch is None:
        raise PatchError.malformed("Invalid JSON Patch")
    if not isinstance(patch, dict):
        reason = cannot_unmarshal(patch, "value of type map[string]interface {}")
        raise PatchError.malformed(f"error decoding patch: {reason}")
    return merged(document, patch)


def merged(target: Json, patch: Json) -> Json:
    """The algorithm of RFC 7386, section 2, for any two values."""
    if not isinstance(patch, dict):
        return clone(patch)
    old = target if isinstance(target, dict) else {}
    result = dict(old)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(old.get(key), value)
    return {key: value if key in patch else clone(value) for key, value in result.items()}
