"""The ports of a Service: names, numbers, protocols, and that no two are the same."""

from __future__ import annotations

from typing import Any, Final

from fairway.api.kind import Obj
from fairway.api.kinds.service.traits import CLUSTER_IP
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    forbidden_field,
    invalid_for_each,
    not_supported,
    required,
)
from fairway.api.validation.names import dns_label_errors, qualified_name_errors
from fairway.api.validation.network import PROTOCOLS, validate_port, validate_port_number

FIELD: Final = "spec.ports"

Ports = list[Obj]


def validate_ports(ports: Ports) -> ErrorList:
    """Each port by itself, and that their names are unique."""
    errors: ErrorList = []
    names: set[str] = set()
    several = len(ports) > 1
    for index, port in enumerate(ports):
        field = f"{FIELD}[{index}]"
        name = port.get("name") or ""
        if name:
            errors += invalid_for_each(f"{field}.name", name, dns_label_errors(name))
            if name in names:
                errors.append(duplicate(f"{field}.name", name))
            names.add(name)
        elif several:
            errors.append(required(f"{field}.name"))
        errors += _validate_numbers(field, port)
    return errors


def _validate_numbers(field: str, port: Obj) -> ErrorList:
    errors = validate_port_number(f"{field}.port", port["port"])
    if port["protocol"] not in PROTOCOLS:
        errors.append(not_supported(f"{field}.protocol", port["protocol"], PROTOCOLS))
    errors += validate_port(f"{field}.targetPort", port["targetPort"])
    protocol = port.get("appProtocol")
    if protocol is not None:
        errors += invalid_for_each(f"{field}.appProtocol", protocol, qualified_name_errors(protocol))
    return errors


def validate_node_ports(kind: str, ports: Ports) -> ErrorList:
    """That only types that publish ports have some, and none twice for a protocol."""
    errors: ErrorList = []
    if kind == CLUSTER_IP:
        detail = "may not be used when `type` is 'ClusterIP'"
        errors += [
            forbidden_field(f"{FIELD}[{index}].nodePort", detail)
            for index, port in enumerate(ports)
            if port.get("nodePort")
        ]
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        if number := port.get("nodePort"):
            key = (port["protocol"], number)
            if key in seen:
                errors.append(duplicate(f"{FIELD}[{index}].nodePort", number))
            seen.add(key)
    return errors


def validate_distinct(ports: Ports) -> ErrorList:
    """No port number twice for a protocol."""
    if len(ports) < 2:
        return []
    errors: ErrorList = []
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port["protocol"], port["port"])
        if key in seen:
            errors.append(duplicate(f"{FIELD}[{index}]", _shown(*key)))
        seen.add(key)
    return errors


def _shown(protocol: str, number: int) -> dict[str, Any]:
    """Only what has to be unique, in the form Kubernetes has for a whole port."""
    return {
        "Name": "",
        "Protocol": protocol,
        "AppProtocol": None,
        "Port": number,
        "TargetPort": 0,
        "NodePort": 0,
    }
