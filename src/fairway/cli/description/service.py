"""A Service, described; with the endpoints behind each of its ports."""

from __future__ import annotations

from fairway.cli.description.text import NONE, Obj, Writer, head, listed, pairs, write_annotations

MOST_ENDPOINTS = 3


def describe(writer: Writer, service: Obj, slices: list[Obj]) -> None:
    spec, status = service["spec"], service.get("status") or {}
    head(writer, service)
    listed(writer, "Labels", pairs(service["metadata"].get("labels")))
    write_annotations(writer, service)
    writer.field("Selector", ",".join(pairs(spec.get("selector"))) or NONE)
    writer.field("Type", spec.get("type", "ClusterIP"))
    if spec.get("ipFamilyPolicy"):
        writer.field("IP Family Policy", spec["ipFamilyPolicy"])
    if spec.get("ipFamilies"):
        writer.field("IP Families", ",".join(spec["ipFamilies"]))
    writer.field("IP", spec.get("clusterIP", ""))
    writer.field("IPs", ",".join(spec.get("clusterIPs") or ()) or NONE)
    if spec.get("externalIPs"):
        writer.field("External IPs", ",".join(spec["externalIPs"]))
    if spec.get("loadBalancerIP"):
        writer.field("Desired LoadBalancer IP", spec["loadBalancerIP"])
    if spec.get("externalName"):
        writer.field("External Name", spec["externalName"])
    if ingress := (status.get("loadBalancer") or {}).get("ingress"):
        texts = [f"{one.get('ip') or one.get('hostname')} ({one.get('ipMode') or 'VIP'})" for one in ingress]
        writer.field("LoadBalancer Ingress", ", ".join(texts))
    for port in spec.get("ports") or ():
        _port(writer, port, slices)
    writer.field("Session Affinity", spec.get("sessionAffinity", "None"))
    for name, key in (
        ("External Traffic Policy", "externalTrafficPolicy"),
        ("Internal Traffic Policy", "internalTrafficPolicy"),
        ("Traffic Distribution", "trafficDistribution"),
        ("HealthCheck NodePort", "healthCheckNodePort"),
    ):
        if spec.get(key):
            writer.field(name, spec[key])
    if ranges := spec.get("loadBalancerSourceRanges"):
        writer.field("LoadBalancer Source Ranges", ",".join(ranges))


def _port(writer: Writer, port: Obj, slices: list[Obj]) -> None:
    name, protocol = port.get("name") or "<unset>", port.get("protocol", "TCP")
    writer.line(0, f"Port:\t{name}\t{port['port']}/{protocol}")
    writer.field("TargetPort", f"{port.get('targetPort', port['port'])}/{protocol}")
    if port.get("nodePort"):
        writer.line(0, f"NodePort:\t{name}\t{port['nodePort']}/{protocol}")
    writer.field("Endpoints", endpoints_text(slices, port.get("name", "")))


def endpoints_text(slices: list[Obj], port_name: str) -> str:
    """The first few that are ready; without any slice that is a different nothing."""
    if not slices:
        return NONE
    found = [
        f"{_bracketed(endpoint['addresses'][0])}:{port['port']}"
        for each in slices
        for port in each.get("ports") or ()
        if (port.get("name") or "") == port_name and port.get("port")
        for endpoint in each.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready", True)
    ]
    more = f" + {len(found) - MOST_ENDPOINTS} more..." if len(found) > MOST_ENDPOINTS else ""
    return ",".join(found[:MOST_ENDPOINTS]) + more


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
