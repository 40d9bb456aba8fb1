"""What a Pod is called on the network and how it finds others: hostnames, hosts file, resolver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.names import validate_subdomain
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_for_each,
    invalid_value,
    required,
    too_long,
)
from fairway.api.validation.names import SUBDOMAIN_LENGTH, length_errors, pattern_errors, regex_error
from fairway.api.validation.network import validate_ip

MOST_NAMESERVERS: Final = 3
MOST_SEARCHES: Final = 32
LONGEST_SEARCHES: Final = 2048
LONGEST_HOSTNAME: Final = 64
UNDERSCORE_LABEL: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
UNDERSCORE_NAME: Final = rf"{UNDERSCORE_LABEL}(\.{UNDERSCORE_LABEL})*"
UNDERSCORE_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and "
    "must start and end with an alphanumeric character"
)


def validate_dns_config(field: str, config: Obj | None, policy: str) -> ErrorList:
    if policy == "None":
        if config is None:
            return [required(field, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{field}.nameservers", detail)]
    if config is None:
        return []
    errors = _validate_nameservers(f"{field}.nameservers", config.get("nameservers") or [])
    errors += _validate_searches(f"{field}.searches", config.get("searches") or [])
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(required(f"{field}.options[{index}]", "must not be empty"))
    return errors


def _validate_nameservers(field: str, servers: list[str]) -> ErrorList:
    errors: ErrorList = []
    if len(servers) > MOST_NAMESERVERS:
        detail = f"must not have more than {MOST_NAMESERVERS} nameservers"
        errors.append(invalid_value(field, servers, detail))
    for index, server in enumerate(servers):
        errors += validate_ip(f"{field}[{index}]", server)
    return errors


def _validate_searches(field: str, searches: list[str]) -> ErrorList:
    errors: ErrorList = []
    if len(searches) > MOST_SEARCHES:
        errors.append(invalid_value(field, searches, f"must not have more than {MOST_SEARCHES} search paths"))
    if len(" ".join(searches)) > LONGEST_SEARCHES:
        detail = (
            f"must not have more than {LONGEST_SEARCHES} characters (including spaces) in the search list"
        )
        errors.append(invalid_value(field, searches, detail))
    for index, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            errors += invalid_for_each(f"{field}[{index}]", name, underscore_name_errors(name))
    return errors


def underscore_name_errors(value: str) -> list[str]:
    """A subdomain whose labels may have underscores, as those of SRV records have."""
    error = regex_error(UNDERSCORE_RULE, UNDERSCORE_NAME, "example.com")
    return length_errors(value, SUBDOMAIN_LENGTH) + pattern_errors(value, UNDERSCORE_NAME, error)


def validate_host_aliases(field: str, aliases: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    for index, alias in enumerate(aliases):
        errors += validate_ip(f"{field}[{index}].ip", alias.get("ip", ""))
        for number, name in enumerate(alias.get("hostnames") or ()):
            errors += validate_subdomain(f"{field}[{index}].hostnames[{number}]", name)
    return errors


def validate_hostname_override(field: str, spec: Obj) -> ErrorList:
    name = spec.get("hostnameOverride")
    if name is None:
        return []
    errors: ErrorList = []
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden_field(field, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden_field(field, "may not be specified when hostNetwork is true"))
    if len(name) > LONGEST_HOSTNAME:
        errors.append(too_long(field, LONGEST_HOSTNAME))
    return errors + validate_subdomain(field, name)
