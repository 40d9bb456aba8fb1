"""Validation of a Pod's spec as a whole, in Kubernetes' order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.affinity import validate_affinity
from fairway.api.kinds.pod_spec.containers import (
    containers_with_fields,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from fairway.api.kinds.pod_spec.environment import validate_file_key_volumes
from fairway.api.kinds.pod_spec.names import validate_label, validate_qualified_name, validate_subdomain
from fairway.api.kinds.pod_spec.naming import (
    validate_dns_config,
    validate_host_aliases,
    validate_hostname_override,
)
from fairway.api.kinds.pod_spec.ports import validate_host_network
from fairway.api.kinds.pod_spec.resource_claims import validate_resource_claims
from fairway.api.kinds.pod_spec.resources import validate_pod_level, validate_resources
from fairway.api.kinds.pod_spec.scope import Scope
from fairway.api.kinds.pod_spec.security import validate_pod_security_context
from fairway.api.kinds.pod_spec.spreading import validate_spread_constraints
from fairway.api.kinds.pod_spec.tolerations import validate_tolerations
from fairway.api.kinds.pod_spec.volumes import validate_volumes
from fairway.api.kinds.pod_spec.windows import validate_for_os, validate_host_process
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.selectors import validate_labels
from fairway.api.validation.values import validate_range

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
SYSTEMS: Final = frozenset({"linux", "windows"})
LATEST_DEADLINE: Final = 2**31 - 1


def validate_pod_spec(field: str, spec: Obj, metadata: Obj | None = None) -> ErrorList:
    """`metadata` is the Pod's own; a template has none that counts."""
    pod_name = (metadata or {}).get("name", "")
    volumes, errors = validate_volumes(f"{field}.volumes", spec.get("volumes") or (), pod_name)
    claims = spec.get("resourceClaims") or ()
    scope = Scope(
        is_pod=metadata is not None,
        volumes=volumes,
        claims=frozenset(claim["name"] for claim in claims if claim.get("name")),
        grace=spec.get("terminationGracePeriodSeconds"),
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers") is not False,
        os=(spec.get("os") or {}).get("name", "") if spec.get("os") is not None else None,
    )
    if claims:
        errors += validate_resource_claims(f"{field}.resourceClaims", claims, metadata)
    errors += _validate_all_containers(field, spec, scope)
    errors += _validate_policies(field, spec, scope)
    errors += _validate_placement(field, spec)
    return errors + _validate_remaining(field, spec, scope)


def _validate_all_containers(field: str, spec: Obj, scope: Scope) -> ErrorList:
    regular = spec.get("containers") or ()
    errors = validate_containers(f"{field}.containers", regular, scope)
    if first := spec.get("initContainers"):
        errors += validate_init_containers(f"{field}.initContainers", first, regular, scope)
    if later := spec.get("ephemeralContainers"):
        errors += validate_ephemeral_containers(f"{field}.ephemeralContainers", later, spec, scope)
    if spec.get("resources") is not None:
        errors += validate_pod_level(field, spec, scope.claims)
    if spec.get("hostNetwork"):
        errors += validate_host_network(field, spec, scope.is_pod)
    return errors


def _validate_policies(field: str, spec: Obj, scope: Scope) -> ErrorList:
    errors = _validate_choice(f"{field}.restartPolicy", scope.restart_policy, RESTART_POLICIES)
    errors += _validate_choice(f"{field}.dnsPolicy", spec.get("dnsPolicy", ""), DNS_POLICIES)
    if selector := spec.get("nodeSelector"):
        errors += validate_labels(f"{field}.nodeSelector", selector)
    errors += validate_pod_security_context(f"{field}.securityContext", spec)
    if affinity := spec.get("affinity"):
        errors += validate_affinity(f"{field}.affinity", affinity)
    return errors + validate_dns_config(
        f"{field}.dnsConfig", spec.get("dnsConfig"), spec.get("dnsPolicy", "")
    )


def _validate_choice(field: str, value: str, supported: Sequence[str]) -> ErrorList:
    if value in supported:
        return []
    return [not_supported(field, value, supported) if value else required(field)]


def _validate_placement(field: str, spec: Obj) -> ErrorList:
    errors: ErrorList = []
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        place = f"{field}.readinessGates[{index}].conditionType"
        errors += validate_qualified_name(place, gate.get("conditionType", ""))
    if gates := spec.get("schedulingGates"):
        errors += _validate_gates(f"{field}.schedulingGates", gates)
    if constraints := spec.get("topologySpreadConstraints"):
        errors += validate_spread_constraints(f"{field}.topologySpreadConstraints", constraints)
    errors += _validate_hosts(field, spec)
    for name in ("serviceAccountName", "nodeName"):
        if spec.get(name):
            errors += validate_subdomain(f"{field}.{name}", spec[name])
    if (deadline := spec.get("activeDeadlineSeconds")) is not None:
        errors += validate_range(f"{field}.activeDeadlineSeconds", deadline, 1, LATEST_DEADLINE)
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            errors += validate_label(f"{field}.{name}", spec[name])
    if tolerations := spec.get("tolerations"):
        errors += validate_tolerations(f"{field}.tolerations", tolerations)
    if aliases := spec.get("hostAliases"):
        errors += validate_host_aliases(f"{field}.hostAliases", aliases)
    return errors


def _validate_gates(field: str, gates: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        errors += validate_qualified_name(f"{field}[{index}]", name)
        if name in seen:
            errors.append(duplicate(f"{field}[{index}]", name))
        seen.add(name)
    return errors


def _validate_hosts(field: str, spec: Obj) -> ErrorList:
    """What is shared with the host, on Windows and with user namespaces."""
    errors: ErrorList = []
    containers = list(containers_with_fields(field, spec))
    if any((each.get("securityContext") or {}).get("windowsOptions") for each in (spec, *_of(containers))):
        errors += validate_host_process(field, spec, containers)
    if spec.get("hostUsers") is False:
        detail = "when `hostUsers` is false"
        for name, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(name):
                errors.append(forbidden_field(f"{field}.{shown}", detail))
        errors += [
            forbidden_field(f"{place}.volumeDevices", detail)
            for place, container in containers
            if container.get("volumeDevices")
        ]
    return errors + validate_hostname_override(f"{field}.hostnameOverride", spec)


def _of(containers: Sequence[tuple[str, Obj]]) -> list[Obj]:
    return [container for _, container in containers]


def _validate_remaining(field: str, spec: Obj, scope: Scope) -> ErrorList:
    errors: ErrorList = []
    if name := spec.get("priorityClassName"):
        errors += validate_subdomain(f"{field}.priorityClassName", name)
    if (name := spec.get("runtimeClassName")) is not None:
        errors += validate_subdomain(f"{field}.runtimeClassName", name)
    if (policy := spec.get("preemptionPolicy")) is not None:
        errors += _validate_choice(f"{field}.preemptionPolicy", policy, PREEMPTION_POLICIES)
    if overhead := spec.get("overhead"):
        errors += validate_resources(f"{field}.overhead", {"limits": overhead}, frozenset())
    if spec.get("os") is not None:
        errors += _validate_system(field, spec)
    if (group := spec.get("schedulingGroup")) is not None:
        errors += _validate_group(f"{field}.schedulingGroup.podGroupName", group.get("podGroupName"))
    containers = list(containers_with_fields(field, spec))
    if any(each.get("env") for each in _of(containers)):
        errors += validate_file_key_volumes(spec, containers)
    return errors


def _validate_system(field: str, spec: Obj) -> ErrorList:
    name = spec["os"].get("name", "")
    if not name:
        return [required(f"{field}.os.name")]
    if name not in SYSTEMS:
        return [not_supported(f"{field}.os", name, SYSTEMS)]
    return validate_for_os(field, spec, list(containers_with_fields(field, spec)))


def _validate_group(field: str, name: Any) -> ErrorList:
    if name is None:
        return [invalid_value(field, "null", "must specify one of: `podGroupName`")]
    return validate_subdomain(field, name)
