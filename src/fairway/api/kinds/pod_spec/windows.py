"""Pods for Windows: options of their own, and what of Linux they can't have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.names import validate_subdomain
from fairway.api.kinds.pod_spec.scope import CLUSTER_POLICY
from fairway.api.validation.fields import ErrorList, forbidden_field, invalid_value

LONGEST_SPEC: Final = 64 * 1024
LONGEST_DOMAIN: Final = 256
LONGEST_USER: Final = 104
NET_BIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
DOMAIN_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
DOMAIN: Final = re.compile(rf"{DOMAIN_LABEL}(?:\.{DOMAIN_LABEL})*").fullmatch
NOT_WINDOWS: Final = "cannot be set for a windows pod"
NOT_LINUX: Final = "windows options cannot be set for a linux pod"
# In the order in which they are looked for; what shares something with the host stands in the spec itself.
POD_FIELDS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "shareProcessNamespace",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
SPEC_FIELDS: Final = frozenset({"hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"})
CONTAINER_FIELDS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)

Placed = Sequence[tuple[str, Obj]]


def validate_for_os(field: str, spec: Obj, containers: Placed) -> ErrorList:
    """What doesn't go with the system the Pod is for."""
    if spec["os"]["name"] == "linux":
        return _validate_linux(field, spec, containers)
    return _validate_windows(field, spec, containers)


def _validate_linux(field: str, spec: Obj, containers: Placed) -> ErrorList:
    contexts = [(f"{field}.securityContext", spec.get("securityContext") or {})]
    contexts += [
        (f"{place}.securityContext", each.get("securityContext") or {}) for place, each in containers
    ]
    return [
        forbidden_field(f"{place}.windowsOptions", NOT_LINUX)
        for place, context in contexts
        if context.get("windowsOptions") is not None
    ]


def _validate_windows(field: str, spec: Obj, containers: Placed) -> ErrorList:
    errors: ErrorList = []
    context = spec.get("securityContext") or {}
    for name in POD_FIELDS:
        owner, place = (spec, field) if name in SPEC_FIELDS else (context, f"{field}.securityContext")
        given = owner.get(name)
        if given if name in ("hostPID", "hostIPC", "sysctls") else given is not None:
            errors.append(forbidden_field(f"{place}.{name}", NOT_WINDOWS))
    for place, container in containers:
        own = container.get("securityContext") or {}
        errors += [
            forbidden_field(f"{place}.securityContext.{name}", NOT_WINDOWS)
            for name in CONTAINER_FIELDS
            if own.get(name) is not None
        ]
    return errors


def validate_windows_options(field: str, options: Obj | None) -> ErrorList:
    if not options:
        return []
    errors: ErrorList = []
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        errors += validate_subdomain(f"{field}.gmsaCredentialSpecName", name)
    if (text := options.get("gmsaCredentialSpec")) is not None:
        place = f"{field}.gmsaCredentialSpec"
        if not text:
            errors.append(invalid_value(place, text, "gmsaCredentialSpec cannot be an empty string"))
        elif len(text) > LONGEST_SPEC:
            errors.append(invalid_value(place, text, "gmsaCredentialSpec size must be under 64 KiB"))
    if (user := options.get("runAsUserName")) is not None:
        details = _user_errors(user)
        errors += [invalid_value(f"{field}.runAsUserName", user, detail) for detail in details]
    return errors


def _user_errors(text: str) -> list[str]:
    domain, slash, user = text.rpartition("\\")
    if not text:
        return ["runAsUserName cannot be an empty string"]
    if re.search(r"[\x00-\x1f\x7f]", text):
        return ["runAsUserName cannot contain control characters"]
    if text.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    checks = {
        f"runAsUserName's Domain length must be under {LONGEST_DOMAIN} characters": len(domain)
        >= LONGEST_DOMAIN,
        "runAsUserName's Domain doesn't match the NetBios nor the DNS format": bool(slash)
        and not (NET_BIOS(domain) or DOMAIN(domain)),
        "runAsUserName's User cannot be empty": not user,
        f"runAsUserName's User length must not be longer than {LONGEST_USER} characters": len(user)
        > LONGEST_USER,
        "runAsUserName's User cannot contain only periods or spaces": bool(re.fullmatch(r"[. ]+", user)),
        "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]": bool(
            re.search(r'["/\\:;|=,+*?<>@\[\]]', user)
        ),
    }
    return [detail for detail, wrong in checks.items() if wrong]


def validate_host_process(field: str, spec: Obj, containers: Placed) -> ErrorList:
    """On Windows, either all containers of a Pod are processes of the host or none."""
    own = _host_process(spec)
    errors: ErrorList = []
    processes = 0
    for place, container in containers:
        theirs = _host_process(container)
        if own is not None and theirs is not None and own != theirs:
            detail = f"pod hostProcess value must be identical if both are specified, was {str(own).lower()}"
            where = f"{place}.securityContext.windowsOptions.hostProcess"
            errors.append(invalid_value(where, theirs, detail))
        processes += bool(own if theirs is None else theirs)
    if not processes:
        return errors
    if processes != len(containers):
        detail = (
            "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        )
        errors.append(invalid_value(field, "", detail))
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid_value(f"{field}.hostNetwork", False, detail))
    if not CLUSTER_POLICY.allow_privileged:
        errors.append(forbidden_field(field, "hostProcess containers are disallowed by cluster policy"))
    return errors


def _host_process(owner: Obj) -> bool | None:
    found: bool | None = ((owner.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    return found
