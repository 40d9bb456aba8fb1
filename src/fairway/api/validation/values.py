"""Rules that many fields share: not negative, not to be changed, one of a few, a path behind a domain.

What is special to names is in `names`, to addresses and ports in `network`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from fairway.api.validation.fields import (
    ErrorList,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.names import dns_subdomain_errors, percent_errors, regex_error

IMMUTABLE: Final = "field is immutable"
NEGATIVE: Final = "must be greater than or equal to 0"
HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
EMPTY_VALUES: Final[tuple[Any, ...]] = (None, "", 0, [], {})


def validate_non_negative(field: str, value: int) -> ErrorList:
    return [invalid_value(field, value, NEGATIVE)] if value < 0 else []


def validate_immutable(field: str, new: Any, old: Any) -> ErrorList:
    """An empty value and a missing one are the same."""
    same = new == old or (new in EMPTY_VALUES and old in EMPTY_VALUES)
    return [] if same else [invalid_value(field, new, IMMUTABLE)]


def validate_one_of(field: str, value: Any, supported: Collection[str]) -> ErrorList:
    """A set of supported values is listed in the order of the alphabet, anything else in its own."""
    return [] if value in supported else [not_supported(field, value, supported)]


def validate_range(field: str, value: int, least: int, most: int) -> ErrorList:
    if least <= value <= most:
        return []
    return [invalid_value(field, value, f"must be between {least} and {most}, inclusive")]


def validate_number_or_percent(field: str, value: int | str) -> ErrorList:
    """What `maxUnavailable` and its like may be."""
    if isinstance(value, str):
        return invalid_for_each(field, value, percent_errors(value))
    return validate_non_negative(field, value)


def validate_at_most_all(field: str, value: int | str) -> ErrorList:
    """Not a percentage above 100; what isn't a percentage is no matter of this rule."""
    if not isinstance(value, str) or percent_errors(value) or int(value[:-1]) <= 100:
        return []
    return [invalid_value(field, value, "must not be greater than 100%")]


def validate_domain_prefixed_path(field: str, value: str) -> ErrorList:
    """`example.com/path`: how controllers of an IngressClass are named."""
    if not value:
        return [required(field)]
    domain, _, path = value.partition("/")
    if not domain or not path:
        return [invalid_value(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = invalid_for_each(field, domain, dns_subdomain_errors(domain))
    if not re.fullmatch(HTTP_PATH, path):
        errors.append(invalid_value(field, path, regex_error("Invalid path", HTTP_PATH)))
    return errors
