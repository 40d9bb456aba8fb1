"""Whether a Service makes sense: every rule about one Service by itself, in the order Kubernetes has them.

Rules about a change are in `update`, rules about the status in `status`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.service.addresses import validate_addresses
from fairway.api.kinds.service.policies import ONLY_LOAD_BALANCER, validate_policies
from fairway.api.kinds.service.ports import validate_distinct, validate_node_ports, validate_ports
from fairway.api.kinds.service.traits import EXTERNAL_NAME, LOAD_BALANCER, PUBLISHED, is_headless
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.names import dns_subdomain_errors
from fairway.api.validation.network import validate_cidr, validate_ip, validate_reachable_ip
from fairway.api.validation.selectors import validate_labels

TYPES: Final = frozenset({"ClusterIP", EXTERNAL_NAME, *PUBLISHED})
AFFINITIES: Final = frozenset({"ClientIP", "None"})
LONGEST_AFFINITY: Final = 86400
TOPOLOGY_MODE: Final = "service.kubernetes.io/topology-mode"
TOPOLOGY_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
SOURCE_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"

NOTHING: Final[Obj] = {}


def validate(service: Obj) -> ErrorList:
    return validate_spec(service, NOTHING)


def validate_spec(service: Obj, before: Obj) -> ErrorList:
    """`before` is the spec of the stored Service: what it has is not held to rules that came later."""
    spec = service["spec"]
    annotations = service["metadata"].get("annotations") or NOTHING
    ports = spec.get("ports") or []
    errors = _validate_topology(annotations) if annotations else []
    if not ports and spec["type"] != EXTERNAL_NAME and not is_headless(spec):
        errors.append(required("spec.ports"))
    errors += _validate_type_fields(spec)
    errors += validate_ports(ports)
    if spec.get("selector"):
        errors += validate_labels("spec.selector", spec["selector"])
    errors += _validate_affinity(spec)
    errors += validate_addresses(spec, before.get("clusterIPs") or ())
    if spec.get("externalIPs"):
        errors += _validate_external_ips(spec["externalIPs"], before.get("externalIPs") or ())
    if spec["type"] not in TYPES:
        errors.append(not_supported("spec.type", spec["type"], TYPES))
    errors += validate_node_ports(spec["type"], ports)
    errors += validate_distinct(ports)
    errors += _validate_source_ranges(spec, annotations, before.get("loadBalancerSourceRanges") or ())
    return errors + validate_policies(spec)


def _validate_topology(annotations: Obj) -> ErrorList:
    mode, hints = annotations.get(TOPOLOGY_MODE), annotations.get(TOPOLOGY_HINTS)
    if mode is None or hints is None or mode == hints:
        return []
    detail = f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"
    return [invalid_value(f"metadata.annotations[{TOPOLOGY_MODE}]", mode, detail)]


def _validate_type_fields(spec: Obj) -> ErrorList:
    kind = spec["type"]
    if kind in PUBLISHED and is_headless(spec):
        detail = f"may not be set to 'None' for {kind} services"
        return [invalid_value("spec.clusterIPs[0]", "None", detail)]
    if kind != EXTERNAL_NAME:
        return []
    detail = "may not be set for ExternalName services"
    errors = [
        forbidden_field(f"spec.{name}", detail)
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(name) not in (None, [])
    ]
    # A dot at the end says that the name is complete.
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        return [*errors, required("spec.externalName")]
    return errors + invalid_for_each("spec.externalName", name, dns_subdomain_errors(name))


def _validate_affinity(spec: Obj) -> ErrorList:
    affinity = spec["sessionAffinity"]
    if affinity == "None":
        return []
    if affinity not in AFFINITIES:
        return [not_supported("spec.sessionAffinity", affinity, AFFINITIES)]
    seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
    if 0 < seconds <= LONGEST_AFFINITY:
        return []
    field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
    return [invalid_value(field, seconds, f"must be greater than 0 and less than {LONGEST_AFFINITY}")]


def _validate_external_ips(addresses: list[str], known: Collection[str]) -> ErrorList:
    errors: ErrorList = []
    for index, address in enumerate(addresses):
        field = f"spec.externalIPs[{index}]"
        malformed = [] if address in known else validate_ip(field, address)
        errors += malformed or validate_reachable_ip(field, address)
    return errors


def _validate_source_ranges(spec: Obj, annotations: Obj, known: Collection[str]) -> ErrorList:
    """In the field, or in the annotation that came before it; blanks around a range are tolerated."""
    ranges = spec.get("loadBalancerSourceRanges")
    if ranges:
        field = "spec.LoadBalancerSourceRanges"
        named = [(f"{field}[{index}]", text) for index, text in enumerate(ranges) if text not in known]
    elif SOURCE_RANGES in annotations:
        field = f"metadata.annotations[{SOURCE_RANGES}]"
        text = annotations[SOURCE_RANGES].strip()
        named = [(field, part) for part in text.split(",")] if text else []
    else:
        return []
    errors = [] if spec["type"] == LOAD_BALANCER else [forbidden_field(field, ONLY_LOAD_BALANCER)]
    for where, text in named:
        errors += validate_cidr(where, text.strip())
    return errors
