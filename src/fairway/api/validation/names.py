"""What may be a name: DNS labels and subdomains, label keys and values, port names, keys of ConfigMaps.

Each function answers with what is wrong with the text, in Kubernetes' words, or with nothing. Lengths count
bytes, as they do there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN: Final = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
DNS_1035_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
WILDCARD_SUBDOMAIN: Final = rf"\*\.{DNS_SUBDOMAIN}"
LABEL_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL_VALUE: Final = f"({LABEL_NAME})?"
CONFIG_MAP_KEY: Final = "[-._a-zA-Z0-9]+"
PERCENT: Final = "[0-9]+%"

LABEL_LENGTH: Final = 63
SUBDOMAIN_LENGTH: Final = 253
PORT_NAME_LENGTH: Final = 15

EMPTY: Final = "must be non-empty"
LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character"
)
SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character"
)
DNS_1035_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character"
)
WILDCARD_RULE: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
    "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)
LABEL_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character"
)
LABEL_VALUE_RULE: Final = f"a valid label must be an empty string or {LABEL_NAME_RULE.removeprefix('must ')}"
CONFIG_MAP_KEY_RULE: Final = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
PERCENT_RULE: Final = "a valid percent string must be a numeric string followed by an ending '%'"
ENVIRONMENT_RULE: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)

# Nearly every name is fine; these say so at once. Whatever they don't match is looked at in detail.
_is_label: Final = re.compile(DNS_LABEL).fullmatch
_is_subdomain: Final = re.compile(DNS_SUBDOMAIN).fullmatch
_is_label_name: Final = re.compile(LABEL_NAME).fullmatch
_is_port_name: Final = re.compile("[a-z]+(-[a-z]+)*").fullmatch

NameErrors = Callable[[str, bool], list[str]]
"""What is wrong with an object's name; with True, with one that a suffix will be appended to."""


def regex_error(rule: str, pattern: str, *examples: str) -> str:
    # The comma before "or" is Kubernetes' own.
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} ({f'e.g. {shown}' if examples else ''}regex used for validation is '{pattern}')"


def length_errors(value: str, limit: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(value.encode()) > limit else []


def pattern_errors(value: str, pattern: str, error: str) -> list[str]:
    return [] if re.fullmatch(pattern, value) else [error]


def dns_label_errors(value: str) -> list[str]:
    if len(value) <= LABEL_LENGTH and _is_label(value):
        return []
    error = regex_error(LABEL_RULE, DNS_LABEL, "my-name", "123-abc")
    if re.fullmatch(DNS_SUBDOMAIN, value):
        error = "must not contain dots"
    return length_errors(value, LABEL_LENGTH) + pattern_errors(value, DNS_LABEL, error)


def dns_subdomain_errors(value: str, unit: str = "characters") -> list[str]:
    if len(value) <= SUBDOMAIN_LENGTH and _is_subdomain(value):
        return []
    error = regex_error(SUBDOMAIN_RULE, DNS_SUBDOMAIN, "example.com")
    return length_errors(value, SUBDOMAIN_LENGTH, unit) + pattern_errors(value, DNS_SUBDOMAIN, error)


def dns_1035_label_errors(value: str) -> list[str]:
    error = regex_error(DNS_1035_RULE, DNS_1035_LABEL, "my-name", "abc-123")
    return length_errors(value, LABEL_LENGTH) + pattern_errors(value, DNS_1035_LABEL, error)


def wildcard_subdomain_errors(value: str) -> list[str]:
    error = regex_error(WILDCARD_RULE, WILDCARD_SUBDOMAIN, "*.example.com")
    return length_errors(value, SUBDOMAIN_LENGTH) + pattern_errors(value, WILDCARD_SUBDOMAIN, error)


def qualified_name_errors(value: str) -> list[str]:
    """Keys of labels and annotations, finalizers, conditions: `name` or `prefix.example/name`."""
    if len(value) <= LABEL_LENGTH and _is_label_name(value):
        return []
    rule = regex_error(LABEL_NAME_RULE, LABEL_NAME, "MyName", "my.name", "123-abc")
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        advice = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {rule} {advice}"]
    errors = (dns_subdomain_errors(prefix, "bytes") if prefix else [EMPTY]) if slash else []
    name_errors = length_errors(name, LABEL_LENGTH, "bytes") if name else [EMPTY]
    name_errors += pattern_errors(name, LABEL_NAME, rule)
    return [f"prefix part {error}" for error in errors] + [f"name part {error}" for error in name_errors]


def label_value_errors(value: str) -> list[str]:
    if not value or (len(value) <= LABEL_LENGTH and _is_label_name(value)):
        return []
    error = regex_error(LABEL_VALUE_RULE, LABEL_VALUE, "MyValue", "my_value", "12345")
    return length_errors(value, LABEL_LENGTH, "bytes") + pattern_errors(value, LABEL_VALUE, error)


def port_name_errors(value: str) -> list[str]:
    """Names of ports in containers and Ingress backends, and named target ports (RFC 6335)."""
    if len(value) <= PORT_NAME_LENGTH and _is_port_name(value):
        return []
    checks = {
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)": re.fullmatch(
            "[-a-z0-9]+", value
        ),
        "must contain at least one letter (a-z)": re.search("[a-z]", value),
        "must not contain consecutive hyphens": "--" not in value,
        "must not begin or end with a hyphen": not value.startswith("-") and not value.endswith("-"),
    }
    return length_errors(value, PORT_NAME_LENGTH) + [error for error, holds in checks.items() if not holds]


def config_map_key_errors(value: str) -> list[str]:
    error = regex_error(CONFIG_MAP_KEY_RULE, CONFIG_MAP_KEY, "key.name", "KEY_NAME", "key-name")
    errors = length_errors(value, SUBDOMAIN_LENGTH) + pattern_errors(value, CONFIG_MAP_KEY, error)
    if value in (".", ".."):
        return [*errors, f"must not be '{value}'"]
    return [*errors, "must not start with '..'"] if value.startswith("..") else errors


def environment_name_errors(value: str) -> list[str]:
    if not value:
        return [EMPTY]
    return pattern_errors(value, "[ -<>-~]+", ENVIRONMENT_RULE)


def percent_errors(value: str) -> list[str]:
    return pattern_errors(value, PERCENT, regex_error(PERCENT_RULE, PERCENT, "1%", "93%"))


def path_segment_errors(value: str) -> list[str]:
    """Names that need only fit into a path, as those of roles."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{mark}'" for mark in "/%" if mark in value]


def _named_by(errors: Callable[[str], list[str]]) -> NameErrors:
    return lambda name, prefix: errors(without_trailing_dash(name) if prefix else name)


def without_trailing_dash(name: str) -> str:
    """A prefix of generated names may end in a dash, for more is going to follow."""
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name


subdomain_name: Final[NameErrors] = _named_by(dns_subdomain_errors)
label_name: Final[NameErrors] = _named_by(dns_label_errors)
dns_1035_name: Final[NameErrors] = _named_by(dns_1035_label_errors)


def path_segment_name(name: str, prefix: bool) -> list[str]:
    return [error for error in path_segment_errors(name) if not prefix or error.startswith("may not contain")]
