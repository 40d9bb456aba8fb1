"""The values of a Service that need nothing but the Service itself to be known."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.service.traits import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    LOAD_BALANCER,
    PUBLISHED,
    is_externally_accessible,
)

AFFINITY_SECONDS: Final = 10800
WITH_INTERNAL_POLICY: Final = (CLUSTER_IP, *PUBLISHED)


def default(service: Obj) -> None:
    spec = service.get("spec")
    if spec is None:
        spec = service["spec"] = {}
    kind = spec.get("type")
    if not kind:
        kind = spec["type"] = CLUSTER_IP
    _affinity(spec)
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if not spec.get("externalTrafficPolicy") and is_externally_accessible(spec):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in WITH_INTERNAL_POLICY and spec.get("internalTrafficPolicy") is None:
        spec["internalTrafficPolicy"] = "Cluster"
    status = service.get("status")
    if status is None:
        status = service["status"] = {}
    status.setdefault("loadBalancer", {})
    if kind == LOAD_BALANCER:
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        _address_modes(status["loadBalancer"])
    elif kind == EXTERNAL_NAME and spec.get("internalTrafficPolicy") in ("Cluster", "Local"):
        del spec["internalTrafficPolicy"]  # accepted, though it means nothing, and never shown


def _affinity(spec: Obj) -> None:
    affinity = spec.get("sessionAffinity")
    if not affinity:
        affinity = spec["sessionAffinity"] = "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}


def _address_modes(balancer: Obj) -> None:
    for ingress in balancer.get("ingress") or ():
        if ingress.get("ip") and ingress.get("ipMode") is None:
            ingress["ipMode"] = "VIP"
