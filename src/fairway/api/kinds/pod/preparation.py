"""Pods before they are looked at: defaults, and what the server itself fills in or takes back."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod.admission import add_default_tolerations, tolerated
from fairway.api.kinds.pod.annotations import adopt_app_armor
from fairway.api.kinds.pod_spec.defaults import default_pod_spec
from fairway.api.kinds.pod_spec.label_keys import merge_label_keys
from fairway.api.kinds.pod_spec.pod_resources import default_pod_resources, qos_class

# Where init containers stood before they had fields; clients of old may still send them.
OUTDATED_ANNOTATIONS: Final = tuple(
    f"pod.{stage}.kubernetes.io/{what}"
    for stage in ("alpha", "beta")
    for what in ("init-containers", "init-container-statuses")
)
GATED: Final[Obj] = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def default(pod: Obj) -> None:
    if pod.get("spec") is None:
        pod["spec"] = {}
    spec = pod["spec"]
    default_pod_spec(spec)
    default_pod_resources(spec)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    drop_outdated_annotations(pod["metadata"])
    if status := pod.get("status"):
        unite_pod_ips(status)


def _default_host_ports(spec: Obj) -> None:
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        for port in container.get("ports") or ():
            if not port.get("hostPort") and port.get("containerPort"):
                port["hostPort"] = port["containerPort"]


def drop_outdated_annotations(metadata: Obj) -> None:
    if annotations := metadata.get("annotations"):
        for name in OUTDATED_ANNOTATIONS:
            annotations.pop(name, None)
        if not annotations:
            del metadata["annotations"]


def unite_pod_ips(status: Obj) -> None:
    """`podIP` is the first of `podIPs`; where they differ, the field of old is believed."""
    first, addresses = status.get("podIP"), status.get("podIPs")
    if first and (not addresses or addresses[0].get("ip") != first):
        status["podIPs"] = [{"ip": first}]
    elif addresses and not first and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]


def prepare_create(pod: Obj) -> None:
    spec = pod["spec"]
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [dict(GATED)]
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    adopt_app_armor(pod["metadata"], spec)
    merge_label_keys(spec, pod["metadata"].get("labels") or {})


def prepare_update(new: Obj, old: Obj) -> None:
    """What admission gave on creation stays, if the client left it out."""
    new["status"] = old.get("status", {})
    spec, before = new["spec"], old.get("spec") or {}
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and before.get(name) is not None:
            spec[name] = before[name]
    add_default_tolerations(spec, tolerated(before))


def prepare_status(new: Obj, old: Obj) -> None:
    status, before = new.setdefault("status", {}), old.get("status") or {}
    for name in ("qosClass", "observedGeneration"):
        if not status.get(name) and before.get(name):
            status[name] = before[name]


def grace_period(pod: Obj, wanted: int | None) -> int:
    """Seconds to end in; a Pod that no node runs, or that has ended, goes at once."""
    spec = pod.get("spec") or {}
    phase = (pod.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    seconds = spec.get("terminationGracePeriodSeconds") or 0 if wanted is None else wanted
    return seconds if seconds >= 0 else 1
