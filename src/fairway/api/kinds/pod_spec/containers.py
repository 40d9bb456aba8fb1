"""Containers of a Pod: regular ones, those that run first, and those that come later for debugging."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.environment import validate_environment, validate_environment_from
from fairway.api.kinds.pod_spec.mounts import validate_devices, validate_mounts
from fairway.api.kinds.pod_spec.names import validate_label
from fairway.api.kinds.pod_spec.ports import validate_host_ports, validate_ports
from fairway.api.kinds.pod_spec.probes import validate_lifecycle, validate_probes
from fairway.api.kinds.pod_spec.resources import validate_resources
from fairway.api.kinds.pod_spec.restarts import (
    validate_init_restart_policy,
    validate_resize_policy,
    validate_restart_policy,
)
from fairway.api.kinds.pod_spec.scope import Scope
from fairway.api.kinds.pod_spec.security import validate_security_context
from fairway.api.kinds.pod_spec.volume_plugins import validate_pull_policy
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    value_not_found,
)

MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
NOT_IN_INIT: Final = "may not be set for init containers without restartPolicy=Always"
INIT_RESTART: Final = "must not be set to 'RestartContainer' for non-sidecar initContainers"
NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
# Which of a container's fields ephemeral ones have not, in the order of declaration.
BEYOND_EPHEMERAL: Final = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
PARTS: Final = ("initContainers", "containers", "ephemeralContainers")


def containers_with_fields(field: str, spec: Obj) -> Iterator[tuple[str, Obj]]:
    """Every container of whatever sort, and where it stands."""
    for part in PARTS:
        for index, container in enumerate(spec.get(part) or ()):
            yield f"{field}.{part}[{index}]", container


def validate_containers(field: str, containers: Sequence[Obj] | None, scope: Scope) -> ErrorList:
    if not containers:
        return [required(field)]
    errors: ErrorList = []
    names: set[str] = set()
    for index, container in enumerate(containers):
        place = f"{field}[{index}]"
        errors += validate_container(place, container, scope)
        if container["name"] in names:
            errors.append(duplicate(f"{place}.name", container["name"]))
        names.add(container["name"])
        errors += _validate_running(place, container, scope)
        errors += validate_restart_policy(place, container)
    return errors + validate_host_ports(field, containers)


def _validate_running(field: str, container: Obj, scope: Scope) -> ErrorList:
    """What only containers that keep running have."""
    errors: ErrorList = []
    if (lifecycle := container.get("lifecycle")) is not None:
        errors += validate_lifecycle(f"{field}.lifecycle", lifecycle, scope)
    return errors + validate_probes(field, container, scope)


def validate_init_containers(
    field: str, containers: Sequence[Obj], regular: Sequence[Obj], scope: Scope
) -> ErrorList:
    errors: ErrorList = []
    names = {container["name"] for container in regular}
    for index, container in enumerate(containers):
        place, name = f"{field}[{index}]", container["name"]
        errors += validate_container(place, container, scope)
        errors += validate_init_restart_policy(place, container)
        if name in names:
            errors.append(duplicate(f"{place}.name", name))
        elif name:
            names.add(name)
        errors += validate_host_ports(field, [container])
        errors += _validate_init(place, container, scope)
    return errors


def _validate_init(field: str, container: Obj, scope: Scope) -> ErrorList:
    if container.get("restartPolicy") == "Always":
        return _validate_running(field, container, scope)
    errors: ErrorList = []
    for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            errors.append(forbidden_field(f"{field}.{name}", NOT_IN_INIT))
    for index, policy in enumerate(container.get("resizePolicy") or ()):
        if policy.get("restartPolicy") == "RestartContainer":
            place = f"{field}.resizePolicy[{index}].restartPolicy"
            errors.append(invalid_value(place, "RestartContainer", INIT_RESTART))
    return errors


def validate_ephemeral_containers(
    field: str, containers: Sequence[Obj], spec: Obj, scope: Scope
) -> ErrorList:
    errors: ErrorList = []
    others = {c["name"] for part in PARTS[:2] for c in spec.get(part) or ()}
    names = set(others)
    for index, container in enumerate(containers):
        place, name = f"{field}[{index}]", container["name"]
        errors += validate_container(place, container, scope)
        errors += validate_trimmed_image(place, container)
        if name in names:
            errors.append(duplicate(f"{place}.name", name))
        names.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in others:
            errors.append(value_not_found(f"{place}.targetContainerName", target))
        errors += _validate_ephemeral(place, container)
    return errors


def _validate_ephemeral(field: str, container: Obj) -> ErrorList:
    errors: ErrorList = [
        forbidden_field(f"{field}.{name}", NOT_EPHEMERAL) for name in BEYOND_EPHEMERAL if container.get(name)
    ]
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        for name in ("subPath", "subPathExpr"):
            if mount.get(name):
                errors.append(forbidden_field(f"{field}.volumeMounts[{index}].{name}", NOT_EPHEMERAL))
    return errors


def validate_container(field: str, container: Obj, scope: Scope) -> ErrorList:
    """What holds for all sorts. The order is Kubernetes'; what isn't there isn't looked at."""
    name = container["name"]
    errors = validate_label(f"{field}.name", name) if name else [required(f"{field}.name")]
    if not container.get("image"):
        errors.append(required(f"{field}.image"))
    if container.get("terminationMessagePolicy") not in MESSAGE_POLICIES:
        policy = container.get("terminationMessagePolicy", "")
        errors.append(not_supported(f"{field}.terminationMessagePolicy", policy, MESSAGE_POLICIES))
    if ports := container.get("ports"):
        errors += validate_ports(f"{field}.ports", ports)
    if variables := container.get("env"):
        errors += validate_environment(f"{field}.env", variables)
    if sources := container.get("envFrom"):
        errors += validate_environment_from(f"{field}.envFrom", sources)
    if container.get("volumeMounts"):
        errors += validate_mounts(f"{field}.volumeMounts", container, scope)
    if container.get("volumeDevices"):
        errors += validate_devices(f"{field}.volumeDevices", container, scope)
    errors += validate_pull_policy(f"{field}.imagePullPolicy", container.get("imagePullPolicy", ""))
    if resources := container.get("resources"):
        errors += validate_resources(f"{field}.resources", resources, scope.claims)
    if policies := container.get("resizePolicy"):
        errors += validate_resize_policy(f"{field}.resizePolicy", policies, scope.restart_policy)
    if context := container.get("securityContext"):
        errors += validate_security_context(f"{field}.securityContext", context, scope.host_users)
    return errors


def validate_trimmed_image(field: str, container: Obj) -> ErrorList:
    """Pods only: templates of old may have blanks around an image."""
    image = container.get("image", "")
    if image == image.strip():
        return []
    return [invalid_value(f"{field}.image", image, "must not have leading or trailing whitespace")]
