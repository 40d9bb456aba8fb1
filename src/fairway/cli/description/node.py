"""A node, described; with the Pods on it and what they ask for."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from fairway.api.schema.quantity import total, value_of
from fairway.cli.description.text import NONE, Obj, Writer, age, listed, moment, pairs, write_annotations

ROLE = "node-role.kubernetes.io/"
INFO = (
    ("Machine ID", "machineID"),
    ("System UUID", "systemUUID"),
    ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"),
    ("OS Image", "osImage"),
    ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"),
    ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
    ("Kube-Proxy Version", "kubeProxyVersion"),
)


def describe(writer: Writer, node: Obj, lease: Obj | None, pods: list[Obj], now: datetime) -> None:
    metadata, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    writer.field("Name", metadata["name"])
    roles = [name.removeprefix(ROLE) for name in metadata.get("labels") or () if name.startswith(ROLE)]
    writer.field("Roles", ",".join(sorted(roles)) or NONE)
    listed(writer, "Labels", pairs(metadata.get("labels")))
    write_annotations(writer, node)
    writer.field("CreationTimestamp", moment(metadata.get("creationTimestamp")))
    taints = [
        f"{t['key']}{'=' + t['value'] if t.get('value') else ''}:{t['effect']}"
        for t in spec.get("taints") or ()
    ]
    listed(writer, "Taints", taints)
    writer.field("Unschedulable", str(bool(spec.get("unschedulable"))).lower())
    _lease(writer, metadata["name"], lease)
    _conditions(writer, status)
    writer.line(0, "Addresses:")
    for address in status.get("addresses") or ():
        writer.field(address["type"], address["address"], 1)
    for title, key in (("Capacity", "capacity"), ("Allocatable", "allocatable")):
        if amounts := status.get(key):
            writer.line(0, f"{title}:")
            for name, amount in sorted(amounts.items()):
                writer.field(name, amount, 1)
    writer.line(0, "System Info:")
    for title, key in INFO:
        writer.field(title, (status.get("nodeInfo") or {}).get(key, ""), 1)
    if spec.get("podCIDR"):
        writer.field("PodCIDR", spec["podCIDR"])
        writer.field("PodCIDRs", ",".join(spec.get("podCIDRs") or [spec["podCIDR"]]))
    _pods(writer, status.get("allocatable") or {}, pods, now)


def _lease(writer: Writer, node: str, lease: Obj | None) -> None:
    if lease is None:
        writer.field("Lease", f'Failed to get lease: leases.coordination.k8s.io "{node}" not found')
        return
    spec = lease.get("spec") or {}
    writer.line(0, "Lease:")
    writer.field("HolderIdentity", spec.get("holderIdentity", "<unset>"), 1)
    writer.field("AcquireTime", moment(spec.get("acquireTime")), 1)
    writer.field("RenewTime", moment(spec.get("renewTime")), 1)


def _conditions(writer: Writer, status: Obj) -> None:
    if not status.get("conditions"):
        return
    writer.line(0, "Conditions:")
    writer.line(1, "Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage")
    writer.line(1, "----\t------\t-----------------\t------------------\t------\t-------")
    for condition in status["conditions"]:
        beat, changed = (moment(condition.get(key)) for key in ("lastHeartbeatTime", "lastTransitionTime"))
        words = (condition["type"], condition["status"], beat, changed, condition.get("reason", ""))
        writer.line(1, " \t".join(words) + f" \t{condition.get('message', '')}")


def _pods(writer: Writer, allocatable: Obj, pods: list[Obj], now: datetime) -> None:
    running = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
    writer.line(0, f"Non-terminated Pods:\t({len(running)} in total)")
    writer.line(1, "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge")
    writer.line(1, "---------\t----\t\t------------\t----------\t---------------\t-------------\t---")
    for pod in running:
        metadata = pod["metadata"]
        shares = [
            _share([pod], key, name, allocatable)
            for name in ("cpu", "memory")
            for key in ("requests", "limits")
        ]
        old = age(metadata.get("creationTimestamp"), now)
        writer.line(1, f"{metadata['namespace']}\t{metadata['name']}\t\t" + "\t".join(shares) + f"\t{old}")
    writer.line(0, "Allocated resources:")
    writer.line(1, "(Total limits may be over 100 percent, i.e., overcommitted.)")
    writer.line(1, "Resource\tRequests\tLimits")
    writer.line(1, "--------\t--------\t------")
    for name in ("cpu", "memory", "ephemeral-storage"):
        requests, limits = (_share(running, key, name, allocatable) for key in ("requests", "limits"))
        writer.line(1, f"{name}\t{requests}\t{limits}")


def _share(pods: list[Obj], key: str, name: str, allocatable: Obj) -> str:
    """An amount, and what part of the node's it is."""
    amounts = [
        str(stated[name])
        for pod in pods
        for container in pod["spec"]["containers"]
        if name in (stated := (container.get("resources") or {}).get(key) or {})
    ]
    amount = total(amounts) if amounts else "0"
    whole = value_of(str(allocatable.get(name, "0")))
    percent = int(value_of(amount) * Decimal(100) / whole) if whole else 0
    return f"{amount} ({percent}%)"
