"""Probes, and what is run at the start and before the end of a container: one action each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.scope import Scope
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.names import regex_error
from fairway.api.validation.network import validate_port, validate_port_number
from fairway.api.validation.values import validate_non_negative

SCHEMES: Final = frozenset({"HTTP", "HTTPS"})
HEADER: Final = "[-A-Za-z0-9]+"
HEADER_RULE: Final = "a valid HTTP header must consist of alphanumeric characters or '-'"
NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
PROBE_ACTIONS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
HOOK_ACTIONS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
PLAIN_SIGNALS: Final = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS "
    "TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)
SIGNALS: Final = {
    "linux": frozenset(
        [f"SIG{name}" for name in PLAIN_SIGNALS.split()]
        + [f"SIGRTMIN+{number}" for number in range(1, 16)]
        + [f"SIGRTMAX-{number}" for number in range(1, 15)]
    ),
    "windows": frozenset({"SIGKILL", "SIGTERM"}),
}


def validate_probes(field: str, container: Obj, scope: Scope) -> ErrorList:
    errors: ErrorList = []
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(name)) is not None:
            errors += _validate_probe(f"{field}.{name}", probe, scope)
            errors += _validate_kind(f"{field}.{name}", name, probe)
    return errors


def _validate_probe(field: str, probe: Obj, scope: Scope) -> ErrorList:
    errors = validate_handler(field, probe, PROBE_ACTIONS, scope)
    for name in NUMBERS:
        errors += validate_non_negative(f"{field}.{name}", probe.get(name, 0))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        errors.append(
            invalid_value(f"{field}.terminationGracePeriodSeconds", grace, "must be greater than 0")
        )
    return errors


def _validate_kind(field: str, name: str, probe: Obj) -> ErrorList:
    """A container that is not ready may need several successes; one that isn't alive gets no second look."""
    if name != "readinessProbe":
        successes = probe.get("successThreshold", 0)
        return [] if successes == 1 else [invalid_value(f"{field}.successThreshold", successes, "must be 1")]
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is None:
        return []
    detail = "must not be set for readinessProbes"
    return [invalid_value(f"{field}.terminationGracePeriodSeconds", grace, detail)]


def validate_lifecycle(field: str, lifecycle: Obj, scope: Scope) -> ErrorList:
    errors: ErrorList = []
    for name in ("postStart", "preStop"):
        if (hook := lifecycle.get(name)) is not None:
            errors += validate_handler(f"{field}.{name}", hook, HOOK_ACTIONS, scope)
    if (signal := lifecycle.get("stopSignal")) is not None:
        errors += _validate_signal(f"{field}.stopSignal", signal, scope.os)
    return errors


def _validate_signal(field: str, signal: str, os: str | None) -> ErrorList:
    if os is None:
        return [forbidden_field(field, "may not be set for containers with empty `spec.os.name`")]
    supported = SIGNALS.get(os, frozenset({signal}))
    return [] if signal in supported else [not_supported(field, signal, supported)]


def validate_handler(field: str, handler: Obj, actions: Sequence[str], scope: Scope) -> ErrorList:
    given = [name for name in actions if handler.get(name) is not None]
    if not given:
        return [required(field, "must specify a handler type")]
    errors = _validate_action(f"{field}.{given[0]}", given[0], handler[given[0]], scope)
    detail = "may not specify more than 1 handler type"
    return errors + [forbidden_field(f"{field}.{name}", detail) for name in given[1:]]


def _validate_action(field: str, name: str, action: Obj, scope: Scope) -> ErrorList:
    if name == "exec":
        return [] if action.get("command") else [required(f"{field}.command")]
    if name == "httpGet":
        return _validate_http(field, action)
    if name == "sleep":
        return _validate_sleep(field, action.get("seconds", 0), scope.grace)
    if name == "grpc":
        return validate_port_number(f"{field}.port", action.get("port", 0))
    return validate_port(f"{field}.port", action.get("port", 0))


def _validate_http(field: str, action: Obj) -> ErrorList:
    errors: ErrorList = [] if action.get("path") else [required(f"{field}.path")]
    errors += validate_port(f"{field}.port", action.get("port", 0))
    if action.get("scheme") not in SCHEMES:
        errors.append(not_supported(f"{field}.scheme", action.get("scheme", ""), SCHEMES))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        if not re.fullmatch(HEADER, name):
            detail = regex_error(HEADER_RULE, HEADER, "X-Header-Name")
            errors.append(invalid_value(f"{field}.httpHeaders", name, detail))
    return errors


def _validate_sleep(field: str, seconds: int, grace: int | None) -> ErrorList:
    if grace is None or 0 <= seconds <= grace:
        return []
    detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
    return [invalid_value(field, seconds, detail)]
