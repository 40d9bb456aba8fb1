"""What all patches share: reading one, copying JSON values, and refusing in Kubernetes' words.

No patch semantics belong here.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from fairway.api.errors import StatusError

Json: TypeAlias = Any


class PatchError(StatusError):
    """The patch is malformed or doesn't fit the object."""

    @classmethod
    def malformed(cls, message: str) -> PatchError:
        return cls(400, "BadRequest", message)

    @classmethod
    def inapplicable(cls) -> PatchError:
        """Kubernetes keeps the reason to itself here."""
        message = "the server rejected our request due to an error in our request"
        return cls(422, "Invalid", message, {})


def decode_patch(body: bytes) -> Json:
    """Refuses, too, what is nested too deeply for anything to walk through."""
    try:
        return clone(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise PatchError.malformed("invalid JSON patch") from error


def clone(value: Json) -> Json:
    """A copy that shares no list or object with the original (much faster than copy.deepcopy)."""
    if isinstance(value, dict):
        return {key: clone(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clone(item) for item in value]
    return value


def json_type(value: Json) -> str:
    """What Go's JSON decoder calls the type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def cannot_unmarshal(value: Json, target: str) -> str:
    return f"json: cannot unmarshal {json_type(value)} into Go {target}"


def go_text(value: Json) -> str:
    """A value as Go prints it with %v, which is how some messages quote parts of a patch."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go_text, value))}]"
    return str(value)
