"""Defaults of a Pod's spec, the same in a Pod and in every template of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.images import pull_policy
from fairway.api.kinds.pod_spec.volume_defaults import default_volume

PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
PROBE_NUMBERS: Final = (
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
)


def every_container(spec: Obj) -> Iterator[Obj]:
    """Regular, init and ephemeral ones."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(name) or ()


def default_pod_spec(spec: Obj) -> None:
    for container in every_container(spec):
        default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    _set_if_empty(spec, "restartPolicy", "Always")
    _set_if_empty(spec, "terminationGracePeriodSeconds", 30)
    _set_if_empty(spec, "dnsPolicy", "ClusterFirst")
    _set_if_empty(spec, "schedulerName", "default-scheduler")
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    unite_service_account(spec)


def unite_service_account(spec: Obj) -> None:
    """The field of old says what the new one says, and fills it if that is empty."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def default_container(container: Obj) -> None:
    if container.get("resources") is None:
        container["resources"] = {}
    _set_if_empty(container, "terminationMessagePath", "/dev/termination-log")
    _set_if_empty(container, "terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for name in PROBES:
        if (probe := container.get(name)) is not None:
            default_probe(probe)
    for hook in ("postStart", "preStop"):
        if (handler := (container.get("lifecycle") or {}).get(hook)) is not None:
            default_handler(handler)
    for variable in container.get("env") or ():
        if source := variable.get("valueFrom"):
            default_value_source(source)


def default_probe(probe: Obj) -> None:
    for name, value in PROBE_NUMBERS:
        if not probe.get(name):
            probe[name] = value
    default_handler(probe)


def default_handler(handler: Obj) -> None:
    if (http := handler.get("httpGet")) is not None:
        _set_if_empty(http, "path", "/")
        _set_if_empty(http, "scheme", "HTTP")
    if (grpc := handler.get("grpc")) is not None and grpc.get("service") is None:
        grpc["service"] = ""


def default_value_source(source: Obj) -> None:
    if (reference := source.get("fieldRef")) is not None:
        _set_if_empty(reference, "apiVersion", "v1")
    if (reference := source.get("fileKeyRef")) is not None and reference.get("optional") is None:
        reference["optional"] = False


def _set_if_empty(spec: Obj, name: str, value: Any) -> None:
    if spec.get(name) in (None, ""):
        spec[name] = value
