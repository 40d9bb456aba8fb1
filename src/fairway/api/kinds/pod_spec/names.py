"""Names inside a Pod's spec, with a quick yes for the good ones."""

from __future__ import annotations

import re
from typing import Final

from fairway.api.validation.fields import ErrorList, invalid_for_each
from fairway.api.validation.names import (
    DNS_LABEL,
    DNS_SUBDOMAIN,
    LABEL_LENGTH,
    LABEL_NAME,
    SUBDOMAIN_LENGTH,
    dns_label_errors,
    dns_subdomain_errors,
    qualified_name_errors,
)

_is_label: Final = re.compile(DNS_LABEL).fullmatch
_is_subdomain: Final = re.compile(DNS_SUBDOMAIN).fullmatch
_is_plain_name: Final = re.compile(LABEL_NAME).fullmatch


def validate_label(field: str, value: str) -> ErrorList:
    if len(value) <= LABEL_LENGTH and _is_label(value):
        return []
    return invalid_for_each(field, value, dns_label_errors(value))


def validate_subdomain(field: str, value: str) -> ErrorList:
    if len(value) <= SUBDOMAIN_LENGTH and _is_subdomain(value):
        return []
    return invalid_for_each(field, value, dns_subdomain_errors(value))


def validate_qualified_name(field: str, value: str) -> ErrorList:
    if len(value) <= LABEL_LENGTH and _is_plain_name(value):
        return []
    return invalid_for_each(field, value, qualified_name_errors(value))
