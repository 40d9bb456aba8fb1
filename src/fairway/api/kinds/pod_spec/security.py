"""Security contexts of Pods and containers: users, privileges, profiles."""

from __future__ import annotations

import re
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.paths import validate_descending
from fairway.api.kinds.pod_spec.scope import CLUSTER_POLICY
from fairway.api.kinds.pod_spec.windows import validate_windows_options
from fairway.api.validation.fields import (
    ErrorList,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from fairway.api.validation.internal_form import shown
from fairway.api.validation.values import validate_one_of

HIGHEST_ID: Final = 2**31 - 1
ID_RANGE: Final = f"must be between 0 and {HIGHEST_ID}, inclusive"
PROC_MOUNTS: Final = ("Default", "Unmasked")
PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
FS_GROUP_CHANGE: Final = frozenset({"OnRootMismatch", "Always"})
GROUPS_POLICIES: Final = frozenset({"Merge", "Strict"})
SELINUX_CHANGE: Final = frozenset({"Recursive", "MountOption"})
SYSCTL: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
SYSCTL_NAME: Final = rf"^({SYSCTL}[\./])*{SYSCTL}$"
SYSCTL_LENGTH: Final = 253
LONGEST_PROFILE: Final = 4095
IPC_SYSCTLS: Final = ("kernel.shm", "kernel.msg", "fs.mqueue.")


def validate_id(field: str, value: int | None) -> ErrorList:
    if value is None or 0 <= value <= HIGHEST_ID:
        return []
    return [invalid_value(field, value, ID_RANGE)]


def validate_security_context(field: str, context: Obj, host_users: bool) -> ErrorList:
    """Of a container."""
    errors: ErrorList = []
    privileged = context.get("privileged")
    if privileged and not CLUSTER_POLICY.allow_privileged:
        errors.append(forbidden_field(f"{field}.privileged", "disallowed by cluster policy"))
    for name in ("runAsUser", "runAsGroup"):
        errors += validate_id(f"{field}.{name}", context.get(name))
    if (mount := context.get("procMount")) is not None:
        if mount not in PROC_MOUNTS:
            errors.append(not_supported(f"{field}.procMount", mount, PROC_MOUNTS))
        if host_users and mount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            errors.append(invalid_value(f"{field}.procMount", mount, detail))
    errors += validate_seccomp(f"{field}.seccompProfile", context.get("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        errors += _validate_no_escalation(field, context)
    errors += validate_windows_options(f"{field}.windowsOptions", context.get("windowsOptions"))
    return errors + validate_app_armor(f"{field}.appArmorProfile", context.get("appArmorProfile"))


def _validate_no_escalation(field: str, context: Obj) -> ErrorList:
    faults = ["`privileged` to true"] if context.get("privileged") else []
    added = (context.get("capabilities") or {}).get("add") or ()
    faults += ["`capabilities.Add` CAP_SYS_ADMIN" for name in added if name == "CAP_SYS_ADMIN"]
    value = shown("core.v1.SecurityContext", context)
    return [
        invalid_value(field, value, f"cannot set `allowPrivilegeEscalation` to false and {fault}")
        for fault in faults
    ]


def validate_pod_security_context(field: str, spec: Obj) -> ErrorList:
    context = spec.get("securityContext") or {}
    if not context and not spec.get("hostPID"):
        return []
    errors: ErrorList = []
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        errors += validate_id(f"{field}.{name}", context.get(name))
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        errors += validate_id(f"{field}.supplementalGroups[{index}]", group)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid_value(f"{field}.shareProcessNamespace", True, detail))
    errors += _validate_sysctls(f"{field}.sysctls", context.get("sysctls") or [], spec)
    if (policy := context.get("fsGroupChangePolicy")) is not None:
        errors += validate_one_of(f"{field}.fsGroupChangePolicy", policy, FS_GROUP_CHANGE)
    errors += validate_seccomp(f"{field}.seccompProfile", context.get("seccompProfile"))
    errors += validate_windows_options(f"{field}.windowsOptions", context.get("windowsOptions"))
    errors += validate_app_armor(f"{field}.appArmorProfile", context.get("appArmorProfile"))
    if (policy := context.get("supplementalGroupsPolicy")) is not None:
        errors += validate_one_of(f"{field}.supplementalGroupsPolicy", policy, GROUPS_POLICIES)
    if (policy := context.get("seLinuxChangePolicy")) is not None:
        errors += validate_one_of(f"{field}.seLinuxChangePolicy", policy, SELINUX_CHANGE)
    return errors


def _validate_sysctls(field: str, sysctls: list[Obj], spec: Obj) -> ErrorList:
    errors: ErrorList = []
    names: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        place, name = f"{field}[{index}].name", sysctl.get("name", "")
        if not name:
            errors.append(required(place))
        elif len(name) > SYSCTL_LENGTH or not re.match(SYSCTL_NAME, name):
            detail = f"must have at most {SYSCTL_LENGTH} characters and match regex {SYSCTL_NAME}"
            errors.append(invalid_value(place, name, detail))
        elif name in names:
            errors.append(duplicate(place, name))
        names.add(name)
        errors += _validate_host_sysctl(place, name, spec)
    return errors


def _validate_host_sysctl(field: str, name: str, spec: Obj) -> ErrorList:
    dotted = name.replace("/", ".")
    if spec.get("hostNetwork") and dotted.startswith("net."):
        return [invalid_value(field, name, "may not be specified when 'hostNetwork' is true")]
    if spec.get("hostIPC") and (dotted.startswith(IPC_SYSCTLS) or dotted == "kernel.sem"):
        return [invalid_value(field, name, "may not be specified when 'hostIPC' is true")]
    return []


def validate_seccomp(field: str, profile: Obj | None) -> ErrorList:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    errors = _validate_profile_type(f"{field}.type", kind, "type is required when seccompProfile is set")
    if kind == "Localhost":
        if local is None:
            detail = "must be set when seccomp type is Localhost"
            return [*errors, required(f"{field}.localhostProfile", detail)]
        return errors + validate_descending(f"{field}.localhostProfile", local)
    if local is not None:
        value = shown("core.v1.SeccompProfile", profile)
        detail = "can only be set when seccomp type is Localhost"
        errors.append(invalid_value(f"{field}.localhostProfile", value, detail))
    return errors


def _validate_profile_type(field: str, kind: str, missing: str) -> ErrorList:
    if kind in PROFILE_TYPES:
        return []
    return [not_supported(field, kind, PROFILE_TYPES) if kind else required(field, missing)]


def validate_app_armor(field: str, profile: Obj | None) -> ErrorList:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    place = f"{field}.localhostProfile"
    if kind == "Localhost":
        return _validate_local_profile(place, local)
    if kind in PROFILE_TYPES and local is not None:
        return [invalid_value(place, local, "can only be set when AppArmor type is Localhost")]
    return _validate_profile_type(f"{field}.type", kind, "type is required when appArmorProfile is set")


def _validate_local_profile(field: str, profile: str | None) -> ErrorList:
    if profile is None or profile == "":
        return [required(field, "must be set when AppArmor type is Localhost")]
    errors: ErrorList = []
    if profile.strip() != profile:
        errors.append(invalid_value(field, profile, "must not be padded with whitespace"))
    if len(profile) > LONGEST_PROFILE:
        errors.append(too_long(field, LONGEST_PROFILE))
    return errors
