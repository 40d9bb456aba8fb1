"""Pods."""

from __future__ import annotations

from fairway.api.kind import ANY_METHOD, READ_WRITE, Kind, Obj, Status, Subresource
from fairway.api.kinds.pod.preparation import (
    default,
    grace_period,
    prepare_create,
    prepare_status,
    prepare_update,
)
from fairway.api.kinds.pod.status import validate_status_update
from fairway.api.kinds.pod.update import validate_update
from fairway.api.kinds.pod.validation import validate
from fairway.api.kinds.pod_spec.warnings import name_warnings, spec_warnings
from fairway.api.resources import PODS


def warnings(pod: Obj) -> list[str]:
    metadata = pod["metadata"]
    return name_warnings(metadata["name"], "the Pod's hostname") + spec_warnings("", pod["spec"], metadata)


def _spec(pod: Obj, name: str) -> str:
    return str((pod.get("spec") or {}).get(name, ""))


def _status(pod: Obj, name: str) -> str:
    return str((pod.get("status") or {}).get(name, ""))


POD = Kind(
    PODS,
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    # Programs update Pods, and often; people who would read warnings don't.
    update_warnings=lambda new, old: [],
    status=Status(
        validate_update=validate_status_update, prepare_update=prepare_status, keeps=("ownerReferences",)
    ),
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
