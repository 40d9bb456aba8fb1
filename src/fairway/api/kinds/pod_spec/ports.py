"""Ports of containers, and of the host they may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.names import port_name_errors
from fairway.api.validation.network import validate_port_number

PROTOCOLS: Final = frozenset({"SCTP", "TCP", "UDP"})
SAME_PORT: Final = "must match `containerPort` when `hostNetwork` is true"


def validate_ports(field: str, ports: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        place = f"{field}[{index}]"
        if name := port.get("name"):
            errors += _validate_name(f"{place}.name", name, names)
        number = port.get("containerPort", 0)
        if not number:
            errors.append(required(f"{place}.containerPort"))
        elif not 0 < number < 65536:
            errors += validate_port_number(f"{place}.containerPort", number)
        if host_port := port.get("hostPort"):
            errors += validate_port_number(f"{place}.hostPort", host_port)
        if port.get("protocol") not in PROTOCOLS:
            errors.append(not_supported(f"{place}.protocol", port.get("protocol", ""), PROTOCOLS))
    return errors


def _validate_name(field: str, name: str, taken: set[str]) -> ErrorList:
    if errors := port_name_errors(name):
        return invalid_for_each(field, name, errors)
    if name in taken:
        return [duplicate(field, name)]
    taken.add(name)
    return []


def validate_host_ports(field: str, containers: Sequence[Obj]) -> ErrorList:
    """No two containers take the same port of the host."""
    errors: ErrorList = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                errors.append(duplicate(f"{field}[{index}].ports[{number}].hostPort", key))
            taken.add(key)
    return errors


def validate_host_network(field: str, spec: Obj, is_pod: bool) -> ErrorList:
    """In the host's network a port is the host's port; in a template it may be left out."""
    errors: ErrorList = []
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            host, own = port.get("hostPort", 0), port.get("containerPort", 0)
            if (is_pod or host) and host != own:
                place = f"{field}.containers[{index}].ports[{number}].hostPort"
                errors.append(invalid_value(place, host, SAME_PORT))
    return errors
