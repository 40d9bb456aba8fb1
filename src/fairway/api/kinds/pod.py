"""Pods."""

from __future__ import annotations

from fairway.api.kind import ANY_METHOD, READ_WRITE, Kind, Obj, Status, Subresource
from fairway.api.kinds.pod_template import default_pod_spec
from fairway.api.resources import PODS

# What admission gives every Pod: it waits five minutes on a node that went away.
TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def default(pod: Obj) -> None:
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)


def prepare_create(pod: Obj) -> None:
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(pod)}
    spec = pod["spec"]
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    tolerations = spec.setdefault("tolerations", [])
    for key in TOLERATED:
        if not any(_tolerates(toleration, key) for toleration in tolerations):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            )


def prepare_update(new: Obj, old: Obj) -> None:
    new["status"] = old.get("status", {})


def _tolerates(toleration: Obj, key: str) -> bool:
    return toleration.get("key") in (key, "", None) and toleration.get("effect") in ("NoExecute", "", None)


def qos_class(pod: Obj) -> str:
    """BestEffort without requests or limits, Guaranteed where all are equal, else Burstable."""
    containers = [*(pod["spec"].get("containers") or ()), *(pod["spec"].get("initContainers") or ())]
    resources = [container.get("resources") or {} for container in containers]
    if not any(r.get("requests") or r.get("limits") for r in resources):
        return "BestEffort"
    for each in resources:
        limits, requests = each.get("limits") or {}, each.get("requests") or {}
        if not {"cpu", "memory"} <= limits.keys():
            return "Burstable"
        if any(requests.get(name, limits[name]) != limits[name] for name in ("cpu", "memory")):
            return "Burstable"
    return "Guaranteed"


def grace_period(pod: Obj, asked: int | None) -> int:
    """Seconds to end in; a Pod that no node runs, or that has ended, goes at once."""
    phase = (pod.get("status") or {}).get("phase")
    if not pod["spec"].get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    if asked is not None:
        return asked if asked >= 0 else 1
    return int(pod["spec"].get("terminationGracePeriodSeconds", 30))


def _spec(pod: Obj, name: str) -> str:
    return str((pod.get("spec") or {}).get(name, ""))


def _status(pod: Obj, name: str) -> str:
    return str((pod.get("status") or {}).get(name, ""))


POD = Kind(
    PODS,
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    status=Status(keeps=("ownerReferences",)),
    generation=True,
    returns_deleted=True,
    graceful=grace_period,
    fields={
        "spec.nodeName": lambda pod: _spec(pod, "nodeName"),
        "spec.restartPolicy": lambda pod: _spec(pod, "restartPolicy"),
        "spec.schedulerName": lambda pod: _spec(pod, "schedulerName"),
        "spec.serviceAccountName": lambda pod: _spec(pod, "serviceAccountName"),
        "spec.hostNetwork": lambda pod: "true" if (pod.get("spec") or {}).get("hostNetwork") else "false",
        "status.phase": lambda pod: _status(pod, "phase"),
        "status.podIP": lambda pod: _status(pod, "podIP"),
        "status.podIPs": lambda pod: ",".join(
            ip.get("ip", "") for ip in (pod.get("status") or {}).get("podIPs") or ()
        ),
        "status.nominatedNodeName": lambda pod: _status(pod, "nominatedNodeName"),
    },
    extra=(
        Subresource("attach", "PodAttachOptions", ("create", "get")),
        Subresource("binding", "Binding", ("create",)),
        Subresource("ephemeralcontainers", "Pod", READ_WRITE),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        Subresource("exec", "PodExecOptions", ("create", "get")),
        Subresource("log", "Pod", ("get",)),
        Subresource("portforward", "PodPortForwardOptions", ("create", "get")),
        Subresource("proxy", "PodProxyOptions", ANY_METHOD),
    ),
)
