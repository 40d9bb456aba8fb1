"""What a Pod may know of itself: `fieldRef` and `resourceFieldRef` values. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fairway.api.schema import quantity
from fairway.nodeagent.objects import Container, Pod, ResourceFieldSelector

_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]\Z")


class ConfigError(Exception):
    """The Pod refers to something that isn't there: its container waits with CreateContainerConfigError."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the Pod object alone doesn't tell at the moment its containers start."""

    pod_ip: str = ""
    host_ip: str = ""
    node_name: str = ""
    node_capacity: tuple[tuple[str, str], ...] = ()


def field_value(pod: Pod, facts: Facts, path: str) -> str:
    if keyed := _KEYED.match(path):
        values = pod.metadata.labels if keyed[1] == "labels" else pod.metadata.annotations
        return (values or {}).get(keyed[2], "")
    values_by_path = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "metadata.labels": _listed(pod.metadata.labels),
        "metadata.annotations": _listed(pod.metadata.annotations),
        "spec.nodeName": facts.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name or "default",
        "status.hostIP": facts.host_ip,
        "status.hostIPs": facts.host_ip,
        "status.podIP": facts.pod_ip,
        "status.podIPs": facts.pod_ip,
    }
    if path not in values_by_path:
        raise ConfigError(f"unsupported fieldPath: {path}")
    return values_by_path[path]


def _listed(values: dict[str, str] | None) -> str:
    """One `key="value"` a line, sorted, as files of the downward API hold labels."""
    quoted = {key: value.replace("\\", "\\\\").replace('"', '\\"') for key, value in (values or {}).items()}
    return "\n".join(f'{key}="{quoted[key]}"' for key in sorted(quoted))


def resource_value(pod: Pod, own: Container, facts: Facts, selector: ResourceFieldSelector) -> str:
    """A container's limit or request; a missing limit is the node's capacity, a missing request 0."""
    container = pod.container(selector.container_name) if selector.container_name else own
    kind, _, resource = selector.resource.partition(".")
    if container is None or kind not in ("limits", "requests"):
        raise ConfigError(f"unsupported container resource: {selector.resource}")
    stated = container.resources.limits if kind == "limits" else container.resources.requests
    default = dict(facts.node_capacity).get(resource, "0") if kind == "limits" else "0"
    return str(quantity.whole((stated or {}).get(resource, default), selector.divisor or "1"))
