"""Services: defaults that need no allocation. Addresses and node ports are given by the allocators."""

from __future__ import annotations

from fairway.api.kind import ANY_METHOD, Kind, Obj, Status, Subresource
from fairway.api.resources import SERVICES

PUBLISHED = ("NodePort", "LoadBalancer")
DEFAULT_AFFINITY_SECONDS = 10800


def default(service: Obj) -> None:
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        config.setdefault("timeoutSeconds", DEFAULT_AFFINITY_SECONDS)
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if spec["type"] in PUBLISHED or spec.get("externalIPs"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    service.setdefault("status", {}).setdefault("loadBalancer", {})


def prepare_create(service: Obj) -> None:
    service["status"] = {"loadBalancer": {}}
    drop_unused(service["spec"])


def prepare_update(new: Obj, old: Obj) -> None:
    """Keep what the client left empty, clear what the new type does not use."""
    spec, before = new["spec"], old["spec"]
    new["status"] = old.get("status", {"loadBalancer": {}})
    if spec["type"] != "ExternalName" and before["type"] != "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(name) and before.get(name):
                spec[name] = before[name]
    if spec["type"] in PUBLISHED and before["type"] in PUBLISHED:
        keep_node_ports(spec, before)
    if spec["type"] != before["type"]:
        clear_for_type(spec, before)
        if before["type"] == "LoadBalancer":
            new["status"] = {"loadBalancer": {}}
    drop_unused(spec)


def keep_node_ports(spec: Obj, before: Obj) -> None:
    """Ports are the same port if they have the same name and protocol."""
    known = {
        (port.get("name", ""), port["protocol"]): port.get("nodePort") for port in before.get("ports") or ()
    }
    for port in spec.get("ports") or ():
        if not port.get("nodePort"):
            kept = known.get((port.get("name", ""), port["protocol"]))
            if kept:
                port["nodePort"] = kept
    if before.get("healthCheckNodePort") and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]


def clear_for_type(spec: Obj, before: Obj) -> None:
    """A field that merely stayed from the old type does not stop a change of type."""
    if spec["type"] == "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if spec.get(name) == before.get(name):
                spec.pop(name, None)
    if spec["type"] not in PUBLISHED and before["type"] in PUBLISHED:
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
        if not spec.get("externalIPs"):
            spec.pop("externalTrafficPolicy", None)
    if spec["type"] != "LoadBalancer":
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if spec.get(name) == before.get(name):
                spec.pop(name, None)


def drop_unused(spec: Obj) -> None:
    if not needs_health_check_port(spec):
        spec.pop("healthCheckNodePort", None)


def needs_health_check_port(spec: Obj) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


SERVICE = Kind(
    SERVICES,
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    status=Status(),
    create_on_update=True,
    returns_deleted=True,
    fields={
        "spec.clusterIP": lambda service: str((service.get("spec") or {}).get("clusterIP", "")),
        "spec.type": lambda service: str((service.get("spec") or {}).get("type", "")),
    },
    extra=(Subresource("proxy", "ServiceProxyOptions", ANY_METHOD),),
)
