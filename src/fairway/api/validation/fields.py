"""Field errors: what is wrong with which field of an object, worded as Kubernetes words it.

Collecting them is the validators' work; `invalid` turns them into the one 422 answer. Fields are named by
their path, `spec.ports[0].port`, which validators build with f-strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from fairway.api.errors import StatusError
from fairway.api.validation.quoting import render_value

NO_VALUE: Final = object()
"""For complaints that don't repeat the value."""


class Fault(Enum):
    """The ways a field can be wrong: the cause's machine-readable reason, and how its text begins."""

    NOT_FOUND = ("FieldValueNotFound", "Not found")
    REQUIRED = ("FieldValueRequired", "Required value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")
    INTERNAL = ("InternalError", "Internal error")

    @property
    def reason(self) -> str:
        return self.value[0]

    @property
    def title(self) -> str:
        return self.value[1]


@dataclass(frozen=True, slots=True)
class FieldError:
    """One complaint about one field."""

    type: Fault
    field: str
    value: Any = NO_VALUE
    detail: str = ""

    @property
    def reason(self) -> str:
        return self.type.reason

    def text(self) -> str:
        """The complaint without its field: `Invalid value: 0: must be between …`."""
        parts = [self.type.title]
        if self.value is not NO_VALUE:
            parts.append(render_value(self.value))
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)

    def message(self) -> str:
        return f"{self.field}: {self.text()}"

    def cause(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.text(), "field": self.field}


ErrorList = list[FieldError]


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(Fault.REQUIRED, field, NO_VALUE, detail)


def invalid_value(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(Fault.INVALID, field, value, detail)


def invalid_for_each(field: str, value: Any, details: Iterable[str]) -> ErrorList:
    """One complaint for every reason why the value won't do."""
    return [invalid_value(field, value, detail) for detail in details]


def duplicate(field: str, value: Any, detail: str = "") -> FieldError:
    return FieldError(Fault.DUPLICATE, field, value, detail)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """Names the values there are: those of a set in order of the alphabet, others in the order given."""
    ordered = sorted(supported) if isinstance(supported, AbstractSet) else list(supported)
    quoted = ", ".join(json.dumps(item) for item in ordered)
    detail = f"supported values: {quoted}" if ordered else ""
    return FieldError(Fault.NOT_SUPPORTED, field, value, detail)


def forbidden_field(field: str, detail: str) -> FieldError:
    return FieldError(Fault.FORBIDDEN, field, NO_VALUE, detail)


def value_not_found(field: str, value: Any) -> FieldError:
    """For references to something that isn't there."""
    return FieldError(Fault.NOT_FOUND, field, value)


def too_long(field: str, limit: int) -> FieldError:
    detail = f"may not be more than {limit} {'byte' if limit == 1 else 'bytes'}"
    return FieldError(Fault.TOO_LONG, field, NO_VALUE, detail)


def too_many(field: str, count: int, limit: int) -> FieldError:
    detail = f"must have at most {limit} {'item' if limit == 1 else 'items'}"
    return FieldError(Fault.TOO_MANY, field, count, detail)


def internal_fault(field: str, detail: str) -> FieldError:
    return FieldError(Fault.INTERNAL, field, NO_VALUE, detail)


def to_status_causes(errors: ErrorList) -> list[dict[str, str]]:
    return [error.cause() for error in errors]


def aggregated(errors: ErrorList) -> str:
    """All complaints in one line, each once; in brackets if there are several."""
    texts = list(dict.fromkeys(error.message() for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def invalid(kind: str, group: str, name: str, errors: ErrorList) -> StatusError:
    """The 422 that lists every complaint; about a patch that became no object, without kind and name."""
    named = {"name": name, "group": group, "kind": kind}
    details: dict[str, Any] = {key: value for key, value in named.items() if value}
    details["causes"] = to_status_causes(errors)
    qualified = f"{kind}.{group}" if group else kind
    message = f"{qualified} {render_value(name)} is invalid: {aggregated(errors)}"
    return StatusError(422, "Invalid", message, details)
