"""Defaults of a Pod's spec, the same in a Pod and in every template of one."""

from __future__ import annotations

from typing import Any

from fairway.api.kind import Obj

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def pull_policy(image: str) -> str:
    """Always for `latest` and untagged images; a digest or any other tag is fetched once."""
    name = image.rpartition("/")[2]
    if "@" in name:
        return "IfNotPresent"
    tag = name.partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def default_probe(probe: Obj) -> None:
    for name, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(name):
            probe[name] = value
    default_handler(probe)


def default_handler(handler: Obj) -> None:
    if http := handler.get("httpGet"):
        if not http.get("path"):
            http["path"] = "/"
        if not http.get("scheme"):
            http["scheme"] = "HTTP"
    if (grpc := handler.get("grpc")) is not None:
        grpc.setdefault("service", "")


def default_container(container: Obj) -> None:
    container.setdefault("resources", {})
    limits = container["resources"].get("limits") or {}
    if limits:
        requests = container["resources"].setdefault("requests", {})
        for name, quantity in limits.items():
            requests.setdefault(name, quantity)
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for name in PROBES:
        if probe := container.get(name):
            default_probe(probe)
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            default_handler(hook)
    for variable in container.get("env") or ():
        if field := (variable.get("valueFrom") or {}).get("fieldRef"):
            field.setdefault("apiVersion", "v1")


def default_volume(volume: Obj) -> None:
    sources = [name for name in volume if name != "name"]
    if not sources:
        volume["emptyDir"] = {}
    for name, mode in (("configMap", 420), ("secret", 420), ("downwardAPI", 420), ("projected", 420)):
        if volume.get(name) is not None:
            volume[name].setdefault("defaultMode", mode)
    if (path := volume.get("hostPath")) is not None:
        path.setdefault("type", "")
    items = list((volume.get("downwardAPI") or {}).get("items") or ())
    for source in (volume.get("projected") or {}).get("sources") or ():
        items += (source.get("downwardAPI") or {}).get("items") or ()
        if (token := source.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", 3600)
    for item in items:
        if field := item.get("fieldRef"):
            field.setdefault("apiVersion", "v1")


def _set_if_empty(spec: Obj, name: str, value: Any) -> None:
    if spec.get(name) in (None, ""):
        spec[name] = value


def default_pod_spec(spec: Obj) -> None:
    for container in spec.get("containers") or ():
        default_container(container)
    for container in spec.get("initContainers") or ():
        default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    _set_if_empty(spec, "restartPolicy", "Always")
    _set_if_empty(spec, "terminationGracePeriodSeconds", 30)
    _set_if_empty(spec, "dnsPolicy", "ClusterFirst")
    _set_if_empty(spec, "schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    if spec.get("hostNetwork"):
        for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort"))
