"""Load balancer and traffic fields of a Service: which type may have them, and which values there are."""

from __future__ import annotations

from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.service.traits import (
    LOAD_BALANCER,
    is_externally_accessible,
    needs_health_check_port,
)
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.names import qualified_name_errors
from fairway.api.validation.network import validate_port_number

TRAFFIC_POLICIES: Final = frozenset({"Cluster", "Local"})
DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
ONLY_LOAD_BALANCER: Final = "may only be used when `type` is 'LoadBalancer'"
ONLY_LOCAL: Final = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"


def validate_policies(spec: Obj) -> ErrorList:
    errors = _validate_load_balancer(spec)
    errors += _validate_external_policy(spec)
    errors += _validate_health_check_port(spec)
    policy = spec.get("internalTrafficPolicy")
    if policy is not None and policy not in TRAFFIC_POLICIES:
        errors.append(not_supported("spec.internalTrafficPolicy", policy, TRAFFIC_POLICIES))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in DISTRIBUTIONS:
        errors.append(not_supported("spec.trafficDistribution", distribution, DISTRIBUTIONS))
    return errors


def _validate_load_balancer(spec: Obj) -> ErrorList:
    name = spec.get("loadBalancerClass")
    if spec["type"] == LOAD_BALANCER:
        if name is None:
            return []
        return invalid_for_each("spec.loadBalancerClass", name, qualified_name_errors(name))
    return [
        forbidden_field(f"spec.{field}", ONLY_LOAD_BALANCER)
        for field in ("allocateLoadBalancerNodePorts", "loadBalancerClass")
        if spec.get(field) is not None
    ]


def _validate_external_policy(spec: Obj) -> ErrorList:
    field, policy = "spec.externalTrafficPolicy", spec.get("externalTrafficPolicy") or ""
    if not is_externally_accessible(spec):
        detail = "may only be set for externally-accessible services"
        return [invalid_value(field, policy, detail)] if policy else []
    if not policy:
        return [required(field)]
    return [] if policy in TRAFFIC_POLICIES else [not_supported(field, policy, TRAFFIC_POLICIES)]


def _validate_health_check_port(spec: Obj) -> ErrorList:
    field, number = "spec.healthCheckNodePort", spec.get("healthCheckNodePort") or 0
    if not needs_health_check_port(spec):
        return [invalid_value(field, number, ONLY_LOCAL)] if number else []
    return validate_port_number(field, number) if number else [required(field)]
