"""What a client is told about a Service that is accepted, but will not do all that it says."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.service.traits import CLUSTER_IP, EXTERNAL_NAME, HEADLESS, cluster_ips
from fairway.api.kinds.service.validation import TOPOLOGY_HINTS, TOPOLOGY_MODE
from fairway.api.validation.network import cidr_warnings, ip_warnings

EXTERNAL_IPS: Final = "spec.externalIPs is deprecated and may no longer be implemented in some clusters"


def warnings(service: Obj) -> list[str]:
    spec = service["spec"]
    found: list[str] = []
    if TOPOLOGY_HINTS in (service["metadata"].get("annotations") or ()):
        found.append(f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead")
    for index, address in enumerate(cluster_ips(spec)):
        if ":" in address:
            found += ip_warnings(f"spec.clusterIPs[{index}]", address)
    if spec["type"] == CLUSTER_IP and spec.get("clusterIP") == HEADLESS:
        found += _headless(spec)
    if spec.get("externalIPs"):
        found += _external_ips(spec)
    if spec.get("loadBalancerIP"):
        found += ip_warnings("spec.loadBalancerIP", spec["loadBalancerIP"])
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        found += cidr_warnings(f"spec.loadBalancerSourceRanges[{index}]", text)
    if spec["type"] != EXTERNAL_NAME and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _headless(spec: Obj) -> list[str]:
    ignored = {
        "loadBalancerIP": spec.get("loadBalancerIP"),
        "externalIPs": spec.get("externalIPs"),
        "SessionAffinity": spec["sessionAffinity"] != "None",
    }
    return [f"spec.{name} is ignored for headless services" for name, is_set in ignored.items() if is_set]


def _external_ips(spec: Obj) -> list[str]:
    found = [EXTERNAL_IPS]
    for index, address in enumerate(spec["externalIPs"]):
        found += ip_warnings(f"spec.externalIPs[{index}]", address)
    if spec["type"] == EXTERNAL_NAME:
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    return found
