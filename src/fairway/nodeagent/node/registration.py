"""This machine as a Node object. Pure: facts in, objects out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fairway import __version__
from fairway.nodeagent.config import Config

Json = dict[str, Any]
LEASE_SECONDS = 40
KUBELET_VERSION = f"v1.37.0-fairway.{__version__}"


@dataclass(frozen=True, slots=True)
class Machine:
    """What a Node's status tells of the machine."""

    cpus: int
    memory_bytes: int
    disk_bytes: int
    architecture: str
    kernel: str
    os_image: str
    machine_id: str
    boot_id: str
    runtime: str


def labels(config: Config, machine: Machine) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": config.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": machine.architecture,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": machine.architecture,
        **dict(config.labels),
    }


def node_object(config: Config, machine: Machine) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": config.name, "labels": labels(config, machine)},
        "spec": {"podCIDR": config.pod_cidr, "podCIDRs": [config.pod_cidr]},
    }


def capacity(config: Config, machine: Machine) -> dict[str, str]:
    return {
        "cpu": str(machine.cpus),
        "memory": f"{machine.memory_bytes // 1024}Ki",
        "ephemeral-storage": f"{machine.disk_bytes // 1024}Ki",
        "pods": str(config.max_pods),
    }


def node_status(config: Config, machine: Machine) -> Json:
    """Without conditions, which have times in them and are kept apart for that."""
    amounts = capacity(config, machine)
    return {
        "addresses": [
            {"type": "InternalIP", "address": config.node_ip},
            {"type": "Hostname", "address": config.name},
        ],
        "capacity": amounts,
        "allocatable": amounts,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": config.port}} if config.serves else {},
        "nodeInfo": {
            "architecture": machine.architecture,
            "bootID": machine.boot_id,
            "containerRuntimeVersion": machine.runtime,
            "kernelVersion": machine.kernel,
            "kubeProxyVersion": "",
            "kubeletVersion": KUBELET_VERSION,
            "machineID": machine.machine_id,
            "operatingSystem": "linux",
            "osImage": machine.os_image,
            "systemUUID": machine.machine_id,
        },
    }


def conditions(before: Iterable[Json], now: datetime) -> list[Json]:
    """Written only by an agent that works, so all is well; `before` tells since when."""
    since = {c.get("type"): c for c in before}
    wanted = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ]
    return [_condition(*each, since.get(each[0]), now) for each in wanted]


def _condition(kind: str, status: str, reason: str, message: str, before: Json | None, now: datetime) -> Json:
    unchanged = before is not None and before.get("status") == status
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": seconds(now),
        "lastTransitionTime": (before or {}).get("lastTransitionTime") if unchanged else seconds(now),
    }


def lease(name: str, node_uid: str, now: datetime) -> Json:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "namespace": "kube-node-lease",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid}],
        },
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": microseconds(now),
        },
    }


def utc_now() -> datetime:
    return datetime.now(UTC)


def seconds(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def microseconds(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
