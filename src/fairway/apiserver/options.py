"""The options in a query: read, and refused where they make no sense, as Kubernetes does for each verb."""

from __future__ import annotations

import re
from typing import Final

from fairway.api.errors import StatusError, bad_request
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid,
    not_supported,
    required,
)
from fairway.api.validation.managed_fields import validate_manager
from fairway.apiserver.call import Call

APPLY: Final = "application/apply-patch+yaml"
EXACT, NOT_OLDER = "Exact", "NotOlderThan"
VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")

# Longer texts are out of every range, and Python takes quadratic time to read them.
LONGEST_NUMBER: Final = 100

_OPTION_KINDS: Final = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}
_WRITING: Final = ("dryRun", "fieldManager", "fieldValidation", "force")
_UNITS: Final = ("ns", "us", "µs", "μs", "ms", "s", "m", "h")


def check_writing(call: Call, media: str = "") -> None:
    """The options of a create, an update or a patch (of that media type)."""
    params = call.params
    if not params and media != APPLY:
        return
    errors: ErrorList = []
    if media == APPLY and not params.get("fieldManager"):
        errors.append(required("fieldManager", "is required for apply patch"))
    elif media and media != APPLY and "force" in params:
        errors.append(forbidden_field("force", "may not be specified for non-apply patch"))
    if any(name in params for name in _WRITING):
        errors += validate_manager("fieldManager", params.get("fieldManager", ""))
        errors += dry_run_errors([params["dryRun"]] if "dryRun" in params else [])
        wanted = params.get("fieldValidation", "")
        if wanted not in VALIDATIONS:
            errors.append(not_supported("fieldValidation", wanted, VALIDATIONS))
    if errors:
        raise refused_options(_OPTION_KINDS["patch" if media else call.verb], errors)


def refused_options(kind: str, errors: ErrorList) -> StatusError:
    return invalid(kind, "meta.k8s.io", "", errors)


def dry_run_errors(values: list[str]) -> ErrorList:
    return [] if set(values) <= {"All"} else [not_supported("dryRun", values, ["All"])]


# -- reading ---------------------------------------------------------------------------------------------


def check_listing(call: Call, *, watching: bool) -> None:
    """Whether the parameters of a list or a watch can be read, and fit together."""
    number(call, "timeoutSeconds")
    number(call, "limit")
    if "resourceVersionMatch" in call.params or "sendInitialEvents" in call.params:
        errors = _watch_errors(call) if watching else _list_errors(call)
        if errors:
            raise refused_options("ListOptions", errors)


def _list_errors(call: Call) -> ErrorList:
    params, field = call.params, "resourceVersionMatch"
    errors: ErrorList = []
    if match := params.get(field, ""):
        version = params.get("resourceVersion", "")
        if not version:
            errors.append(forbidden_field(field, f"{field} is forbidden unless resourceVersion is provided"))
        if params.get("continue"):
            errors.append(forbidden_field(field, f"{field} is forbidden when continue is provided"))
        if match not in (EXACT, NOT_OLDER):
            errors.append(not_supported(field, match, [EXACT, NOT_OLDER, ""]))
        if match == EXACT and version == "0":
            detail = f'{field} "exact" is forbidden for resourceVersion "0"'
            errors.append(forbidden_field(field, detail))
    if "sendInitialEvents" in params:
        errors.append(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(call: Call) -> ErrorList:
    params, field = call.params, "resourceVersionMatch"
    match, initial = params.get(field, ""), "sendInitialEvents" in params
    errors: ErrorList = []
    if initial and match != NOT_OLDER:
        errors.append(forbidden_field(field, f"sendInitialEvents requires setting {field} to {NOT_OLDER}"))
    if match:
        if not initial:
            detail = f"{field} is forbidden for watch unless sendInitialEvents is provided"
            errors.append(forbidden_field(field, detail))
        if match != NOT_OLDER:
            errors.append(not_supported(field, match, [NOT_OLDER]))
        if params.get("continue"):
            errors.append(forbidden_field(field, f"{field} is forbidden when continue is provided"))
    return errors


def number(call: Call, name: str) -> int:
    """A whole number in the query, 0 if it isn't given."""
    text = call.params.get(name)
    if text is None:
        return 0
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(text) > LONGEST_NUMBER or not -(2**63) <= int(text) < 2**63:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)


def revision(call: Call, prefix: str = "") -> int:
    """The resourceVersion in the query; 0 if none is given, or any will do."""
    text = call.params.get("resourceVersion", "")
    if not text:
        return 0
    if problem := version_fault(text):
        raise bad_request(f'{prefix}resourceVersion: Invalid value: "{text}": {problem}')
    return int(text)


def version_fault(text: str) -> str:
    """Why a text is no resourceVersion."""
    if not (text.isascii() and text.isdigit()):
        return f'strconv.ParseUint: parsing "{text}": invalid syntax'
    if len(text) > LONGEST_NUMBER or int(text) >= 2**64:
        return f'strconv.ParseUint: parsing "{text}": value out of range'
    return ""


def check_timeout(call: Call) -> None:
    """`timeout` must be a duration as Go writes them; what it asks for is never exceeded here."""
    if (text := call.params.get("timeout")) and (fault := duration_fault(text)):
        raise bad_request(f"invalid timeout specified in the request URL - time: {fault}")


def duration_fault(text: str) -> str:
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return ""
    if not rest:
        return f'invalid duration "{text}"'
    while rest:
        found = re.match(r"([0-9]+\.?[0-9]*|\.[0-9]+)([^0-9.]*)", rest)
        if found is None:
            return f'invalid duration "{text}"'
        if not found[2]:
            return f'missing unit in duration "{text}"'
        if found[2] not in _UNITS:
            return f'unknown unit "{found[2]}" in duration "{text}"'
        rest = rest[found.end() :]
    return ""
