"""Rows of the plain core kinds: Namespace, Node, ConfigMap, Secret, ServiceAccount.

Pods, Services with Endpoints, and Events have modules of their own.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from fairway.api.tables.column import AGE, NAME, NONE, WIDE, Column, Printer, Printers, documented
from fairway.api.tables.durations import UNKNOWN, age
from fairway.api.tables.reading import Object, at, entries, mapping, name_of, text

ROLE_PREFIX: Final = "node-role.kubernetes.io/"
ROLE_LABEL: Final = "kubernetes.io/role"


def namespace_cells(namespace: Object, now: datetime) -> list[Any]:
    return [name_of(namespace), text(namespace, "status", "phase"), age(namespace, now)]


def config_map_cells(config_map: Object, now: datetime) -> list[Any]:
    count = len(mapping(config_map, "data")) + len(mapping(config_map, "binaryData"))
    return [name_of(config_map), count, age(config_map, now)]


def secret_cells(secret: Object, now: datetime) -> list[Any]:
    return [name_of(secret), text(secret, "type"), len(mapping(secret, "data")), age(secret, now)]


def service_account_cells(account: Object, now: datetime) -> list[Any]:
    return [name_of(account), age(account, now)]


def node_cells(node: Object, now: datetime) -> list[Any]:
    info = mapping(node, "status", "nodeInfo")
    return [
        name_of(node),
        node_status(node),
        ",".join(node_roles(node)) or NONE,
        age(node, now),
        text(info, "kubeletVersion"),
        node_address(node, "InternalIP"),
        node_address(node, "ExternalIP"),
        text(info, "osImage") or UNKNOWN,
        text(info, "kernelVersion") or UNKNOWN,
        text(info, "containerRuntimeVersion") or UNKNOWN,
    ]


def node_status(node: Object) -> str:
    """`Ready`, `NotReady` or `Unknown`, and whether Pods may be placed there."""
    status = "Unknown"
    for condition in entries(node, "status", "conditions"):
        if condition.get("type") == "Ready":
            status = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if at(node, "spec", "unschedulable") else status


def node_roles(node: Object) -> list[str]:
    """Roles from labels `node-role.kubernetes.io/ROLE` and `kubernetes.io/role=ROLE`, sorted."""
    labels = mapping(node, "metadata", "labels")
    roles = {key.removeprefix(ROLE_PREFIX) for key in labels if key.startswith(ROLE_PREFIX)}
    return sorted((roles | {labels.get(ROLE_LABEL, "")}) - {""})


def node_address(node: Object, kind: str) -> str:
    """The first address of that kind."""
    addresses = entries(node, "status", "addresses")
    return next((text(address, "address") for address in addresses if address.get("type") == kind), NONE)


NODE_COLUMNS: Final = (
    NAME,
    Column("Status", "The status of the node"),
    Column("Roles", "The roles of the node"),
    AGE,
    documented("Version", "NodeSystemInfo.kubeletVersion"),
    documented("Internal-IP", "NodeStatus.addresses", priority=WIDE),
    documented("External-IP", "NodeStatus.addresses", priority=WIDE),
    documented("OS-Image", "NodeSystemInfo.osImage", priority=WIDE),
    documented("Kernel-Version", "NodeSystemInfo.kernelVersion", priority=WIDE),
    documented("Container-Runtime", "NodeSystemInfo.containerRuntimeVersion", priority=WIDE),
)

PRINTERS: Final[Printers] = {
    ("", "Namespace"): Printer((NAME, Column("Status", "The status of the namespace"), AGE), namespace_cells),
    ("", "Node"): Printer(NODE_COLUMNS, node_cells),
    ("", "ConfigMap"): Printer((NAME, documented("Data", "ConfigMap.data"), AGE), config_map_cells),
    ("", "Secret"): Printer(
        (NAME, documented("Type", "Secret.type"), documented("Data", "Secret.data"), AGE), secret_cells
    ),
    ("", "ServiceAccount"): Printer((NAME, AGE), service_account_cells),
}
