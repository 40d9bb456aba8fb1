"""A Pod, described."""

from __future__ import annotations

from fairway.cli.description.containers import containers, placement, volumes
from fairway.cli.description.text import Obj, Writer, head, listed, moment, pairs, write_annotations


def describe(writer: Writer, pod: Obj) -> None:
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    head(writer, pod)
    writer.field("Priority", spec.get("priority") or 0)
    writer.field("Service Account", spec.get("serviceAccountName", ""))
    host = f"{spec.get('nodeName')}/{status.get('hostIP', '')}" if spec.get("nodeName") else "<none>"
    writer.field("Node", host)
    if status.get("startTime"):
        writer.field("Start Time", moment(status["startTime"]))
    listed(writer, "Labels", pairs(metadata.get("labels")))
    write_annotations(writer, pod)
    _status(writer, metadata, status)
    writer.field("IP", status.get("podIP", ""))
    _addresses(writer, status)
    owners = [owner for owner in metadata.get("ownerReferences") or () if owner.get("controller")]
    if owners:
        writer.field("Controlled By", f"{owners[0]['kind']}/{owners[0]['name']}")
    if spec.get("initContainers"):
        found = status.get("initContainerStatuses") or []
        containers(writer, "Init Containers", spec["initContainers"], found, template=False)
    containers(
        writer, "Containers", spec["containers"], status.get("containerStatuses") or [], template=False
    )
    _conditions(writer, status)
    volumes(writer, spec.get("volumes") or [], 0)
    if status.get("qosClass"):
        writer.field("QoS Class", status["qosClass"])
    placement(writer, spec, 0)


def _status(writer: Writer, metadata: Obj, status: Obj) -> None:
    if metadata.get("deletionTimestamp"):
        writer.field("Status", "Terminating (lasts <invalid>)")
        writer.field("Termination Grace Period", f"{metadata.get('deletionGracePeriodSeconds', 0)}s")
    else:
        writer.field("Status", status.get("phase", ""))
    for name, key in (("Reason", "reason"), ("Message", "message")):
        if status.get(key):
            writer.field(name, status[key])


def _addresses(writer: Writer, status: Obj) -> None:
    addresses = status.get("podIPs") or []
    writer.line(0, "IPs:" if addresses else "IPs:\t<none>")
    for address in addresses:
        writer.field("IP", address["ip"], 1)


def _conditions(writer: Writer, status: Obj) -> None:
    if found := status.get("conditions"):
        writer.line(0, "Conditions:")
        writer.line(1, "Type\tStatus")
        for condition in found:
            writer.line(1, f"{condition['type']} \t{condition['status']} ")
