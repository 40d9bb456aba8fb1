"""Validation of what kubelets and others write into a Pod's status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod.annotations import validate_annotation_update, validate_pod_annotations
from fairway.api.kinds.pod_spec.names import validate_qualified_name, validate_subdomain
from fairway.api.kinds.pod_spec.security import validate_id
from fairway.api.validation.addresses import family, read_ip
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
)
from fairway.api.validation.network import validate_ip
from fairway.api.validation.values import validate_immutable

KNOWN_CONDITIONS: Final = frozenset({"PodScheduled", "Ready", "Initialized"})
NOT_NEGATIVE: Final = "must be a non-negative integer"
NO_RETURN: Final = "may not be transitioned to non-terminated state"
ONE_OF_EACH: Final = "may specify no more than one IP for each IP family"
HEALTH: Final = frozenset({"Healthy", "Unhealthy", "Unknown"})
STATUSES: Final = (
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
)


def validate_status_update(new: Obj, old: Obj) -> ErrorList:
    place = "metadata.annotations"
    errors = validate_annotation_update(place, new["metadata"], old["metadata"])
    errors += validate_pod_annotations(place, new["metadata"], new["spec"])
    status, before = new.get("status") or {}, old.get("status") or {}
    errors += _validate_conditions("status.conditions", status.get("conditions") or [])
    errors += _validate_nomination(status, before, old["spec"])
    if status.get("observedGeneration", 0) < 0:
        value = status["observedGeneration"]
        errors.append(invalid_value("status.observedGeneration", value, NOT_NEGATIVE))
    errors += validate_immutable("status.qosClass", status.get("qosClass", ""), before.get("qosClass", ""))
    for name, part in STATUSES:
        errors += _validate_transitions(f"status.{name}", name, part, status, before, old["spec"])
    errors += _validate_claims(status, new["spec"])
    errors += _validate_addresses("podIPs", status, before)
    errors += _validate_host_addresses(status, before)
    for name, _ in STATUSES:
        errors += _validate_users(f"status.{name}", status.get(name) or [], new["spec"])
    for name, part in STATUSES:
        errors += _validate_allocated(f"status.{name}", status.get(name) or [], new["spec"].get(part) or [])
    return errors


def _validate_conditions(field: str, conditions: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    for index, condition in enumerate(conditions):
        generation = condition.get("observedGeneration", 0)
        if generation < 0:
            place = f"{field}[{index}].observedGeneration"
            errors.append(invalid_value(place, generation, NOT_NEGATIVE))
        if condition["type"] not in KNOWN_CONDITIONS:
            errors += validate_qualified_name(f"{field}[{index}].Type", condition["type"])
    return errors


def _validate_nomination(status: Obj, before: Obj, spec: Obj) -> ErrorList:
    name = status.get("nominatedNodeName", "")
    if not name or name == before.get("nominatedNodeName", ""):
        return []
    errors = validate_subdomain("status.nominatedNodeName", name)
    if spec.get("nodeName"):
        detail = "may not be set on pods that are already bound to a node"
        errors.append(forbidden_field("status.nominatedNodeName", detail))
    return errors


def _validate_transitions(field: str, name: str, part: str, status: Obj, before: Obj, spec: Obj) -> ErrorList:
    """A container that has ended stays so, unless it is of those that are started again."""
    if part != "ephemeralContainers" and _all_could_restart(spec):
        return []
    containers = {container["name"]: container for container in spec.get(part) or ()}
    now = {each["name"]: each for each in reversed(status.get(name) or ())}
    errors: ErrorList = []
    for index, was in enumerate(before.get(name) or ()):
        ended = (was.get("state") or {}).get("terminated")
        found = now.get(was["name"])
        if ended is None or found is None or (found.get("state") or {}).get("terminated") is not None:
            continue
        code = ended.get("exitCode", 0)
        if part == "ephemeralContainers" or not _restarts(containers.get(was["name"]), spec, code):
            errors.append(forbidden_field(f"{field}[{index}].state", NO_RETURN))
    return errors


def _all_could_restart(spec: Obj) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for part in ("containers", "initContainers")
        for container in spec.get(part) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _restarts(container: Obj | None, spec: Obj, code: int) -> bool:
    if container is None:
        return False
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        if (code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _validate_claims(status: Obj, spec: Obj) -> ErrorList:
    errors: ErrorList = []
    known = {claim["name"] for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        place, name = f"status.resourceClaimStatuses[{index}]", claim["name"]
        if name not in known:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid_value(f"{place}.name", name, detail))
        if name in seen:
            errors.append(duplicate(f"{place}.name", name))
        seen.add(name)
        if claim.get("resourceClaimName") is not None:
            errors += validate_subdomain(f"{place}.resourceClaimName", claim["resourceClaimName"])
    return errors


def _validate_addresses(name: str, status: Obj, before: Obj) -> ErrorList:
    """At most one address of each family; one that was stored before is not asked about again."""
    addresses = [each.get("ip", "") for each in status.get(name) or ()]
    known = {each.get("ip", "") for each in before.get(name) or ()}
    errors: ErrorList = []
    for index, address in enumerate(addresses):
        if address not in known:
            errors += validate_ip(f"status.{name}[{index}]", address)
    read = [read_ip(address) for address in addresses]
    families = [family(address) for address in read if address is not None]
    if len(addresses) > 1 and (len(addresses) > 2 or len(set(families)) < 2):
        value = [{"IP": address} for address in addresses]
        errors.append(invalid_value(f"status.{name}", value, ONE_OF_EACH))
    return errors


def _validate_host_addresses(status: Obj, before: Obj) -> ErrorList:
    addresses = status.get("hostIPs")
    if not addresses:
        return []
    errors: ErrorList = []
    first = addresses[0].get("ip", "")
    if status.get("hostIP", "") != first:
        errors.append(invalid_value("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    return errors + _validate_addresses("hostIPs", status, before)


def _validate_users(field: str, statuses: Sequence[Obj], spec: Obj) -> ErrorList:
    errors: ErrorList = []
    windows = (spec.get("os") or {}).get("name") == "windows"
    for index, status in enumerate(statuses):
        user = (status.get("user") or {}).get("linux")
        place = f"{field}[{index}].user.linux"
        if user is None:
            continue
        if windows:
            errors.append(forbidden_field(place, "cannot be set for a windows pod"))
            continue
        errors += validate_id(f"{place}.uid", user.get("uid", 0))
        errors += validate_id(f"{place}.gid", user.get("gid", 0))
        for number, group in enumerate(user.get("supplementalGroups") or ()):
            errors += validate_id(f"{place}.supplementalGroups[{number}]", group)
    return errors


def _validate_allocated(field: str, statuses: Sequence[Obj], containers: Sequence[Obj]) -> ErrorList:
    errors: ErrorList = []
    by_name = {container["name"]: container for container in containers}
    for index, status in enumerate(statuses):
        place = f"{field}[{index}].allocatedResourcesStatus"
        allocated = status.get("allocatedResourcesStatus") or []
        if allocated and field.endswith("ephemeralContainerStatuses"):
            errors.append(forbidden_field(place, "must not be specified in container status"))
            continue
        for number, resource in enumerate(allocated):
            errors += _validate_resource(f"{place}[{number}]", resource, by_name.get(status["name"]))
    return errors


def _validate_resource(field: str, resource: Obj, container: Obj | None) -> ErrorList:
    errors: ErrorList = []
    name = resource.get("name", "")
    wanted = (container or {}).get("resources") or {}
    if container is not None and name.startswith("claim:"):
        known = {
            f"claim:{c['name']}" + (f"/{c['request']}" if c.get("request") else "")
            for c in wanted.get("claims") or ()
        }
        if name not in known:
            detail = (
                "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' "
                "or 'claim:<claimName>' if request is empty"
            )
            errors.append(invalid_value(f"{field}.name", name, detail))
    elif container is not None and name not in (wanted.get("requests") or {}):
        detail = "must match one of the container's resource requests"
        errors.append(invalid_value(f"{field}.name", name, detail))
    seen: set[str] = set()
    for index, health in enumerate(resource.get("resources") or ()):
        place, state, ident = (
            f"{field}.resources[{index}]",
            health.get("health", ""),
            health.get("resourceID", ""),
        )
        if state not in HEALTH:
            errors.append(not_supported(f"{place}.health", state, HEALTH))
        if ident in seen:
            errors.append(duplicate(f"{place}.resourceID", ident))
        seen.add(ident)
    return errors
