"""What may be asked of a Pod's log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from fairway.api.errors import bad_request
from fairway.api.validation.fields import ErrorList, forbidden_field, invalid_value
from fairway.api.validation.values import validate_non_negative

POSITIVE: Final = "must be greater than 0"
NUMBER: Final = re.compile("[+-]?[0-9]+")


def validate_log_options(query: Mapping[str, str]) -> ErrorList:
    """Raises 400 for what should be a number and isn't."""
    lines, size, seconds = (_number(query.get(name)) for name in ("tailLines", "limitBytes", "sinceSeconds"))
    errors = validate_non_negative("tailLines", lines or 0)
    if size is not None and size < 1:
        errors.append(invalid_value("limitBytes", size, POSITIVE))
    if seconds is not None and query.get("sinceTime"):
        detail = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        errors.append(forbidden_field("[]", detail))
    elif seconds is not None and seconds < 1:
        errors.append(invalid_value("sinceSeconds", seconds, POSITIVE))
    return errors


def _number(text: str | None) -> int | None:
    if not text:
        return None
    if not NUMBER.fullmatch(text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)
