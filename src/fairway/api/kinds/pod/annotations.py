"""Annotations that mean something to Kubernetes when they are on a Pod or on a template of one."""

from __future__ import annotations

import re
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.containers import containers_with_fields
from fairway.api.kinds.pod_spec.paths import validate_descending
from fairway.api.kinds.pod_spec.resource_claims import MIRROR
from fairway.api.kinds.pod_spec.security import validate_app_armor
from fairway.api.validation.fields import ErrorList, forbidden_field, invalid_value

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
LOCALHOST: Final = "localhost/"
PLAIN_PROFILES: Final = ("runtime/default", "docker/default", "unconfined")
ANNOTATED_AS: Final = {
    "Unconfined": ("unconfined",),
    "RuntimeDefault": ("runtime/default", "docker/default"),
}
INT32: Final = range(-(2**31), 2**31)


def validate_pod_annotations(field: str, metadata: Obj, spec: Obj) -> ErrorList:
    annotations = metadata.get("annotations")
    if not annotations:
        return []
    errors: ErrorList = []
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid_value(f"{field}[{MIRROR}]", annotations[MIRROR], detail))
    cost = annotations.get(DELETION_COST, "0")
    if not re.fullmatch("0|-?[1-9][0-9]*", cost) or int(cost) not in INT32:
        errors.append(invalid_value(f"{field}[{DELETION_COST}]", cost, "must be a 32bit integer"))
    for key in sorted(annotations, key=lambda key: (key != SECCOMP_POD, key)):
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            errors += _validate_seccomp(f"{field}.{key}", annotations[key])
    names = {container["name"] for _, container in containers_with_fields("spec", spec)}
    for key in sorted(annotations):
        if key.startswith(APP_ARMOR):
            errors += _validate_app_armor(f"{field}[{key}]", key, annotations[key], names)
    return errors


def _validate_seccomp(field: str, profile: str) -> ErrorList:
    if profile in PLAIN_PROFILES:
        return []
    if profile.startswith(LOCALHOST):
        return validate_descending(field, profile.removeprefix(LOCALHOST))
    return [invalid_value(field, profile, "must be a valid seccomp profile")]


def _validate_app_armor(field: str, key: str, profile: str, names: set[str]) -> ErrorList:
    errors: ErrorList = []
    container = key.removeprefix(APP_ARMOR)
    if container not in names:
        errors.append(invalid_value(field, container, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(LOCALHOST):
        errors.append(invalid_value(field, profile, f'invalid AppArmor profile name: "{profile}"'))
    return errors


def adopt_app_armor(metadata: Obj, spec: Obj) -> None:
    """Profiles were once given in annotations, of which kubelets no longer know."""
    annotations = metadata.get("annotations")
    if not annotations or (spec.get("os") or {}).get("name") == "windows":
        return
    general = (spec.get("securityContext") or {}).get("appArmorProfile")
    for _, container in containers_with_fields("spec", spec):
        profile = _profile_of(annotations.get(f"{APP_ARMOR}{container['name']}", ""))
        context = container.get("securityContext") or {}
        if profile and profile != general and context.get("appArmorProfile") is None:
            container["securityContext"] = {**context, "appArmorProfile": profile}


def _profile_of(annotation: str) -> Obj | None:
    """What the annotation would be as a field; None if it means nothing."""
    if annotation.startswith(LOCALHOST):
        profile = {"type": "Localhost", "localhostProfile": annotation.removeprefix(LOCALHOST)}
        return None if validate_app_armor("", profile) else profile
    kinds = (kind for kind, names in ANNOTATED_AS.items() if annotation == names[0])
    return next(({"type": kind} for kind in kinds), None)


def validate_annotation_update(field: str, new: Obj, old: Obj) -> ErrorList:
    """Some can't be changed on a Pod that exists."""
    after, before = new.get("annotations") or {}, old.get("annotations") or {}
    errors: ErrorList = []
    for key in sorted(before):
        if after.get(key) != before[key] and (what := _fixed(key)):
            errors.append(forbidden_field(f"{field}[{key}]", f"may not remove or update {what}"))
    for key in sorted(after):
        if key not in before and (what := _fixed(key)):
            errors.append(forbidden_field(f"{field}[{key}]", f"may not add {what}"))
    return errors


def _fixed(key: str) -> str:
    if key == MIRROR:
        return "mirror pod annotation"
    return "AppArmor annotations" if key.startswith(APP_ARMOR) else ""


def validate_profiles_agree(field: str, metadata: Obj, spec: Obj) -> ErrorList:
    """A profile that is given in an annotation and in a field must be the same in both."""
    annotations = metadata.get("annotations")
    if not annotations:
        return []
    errors: ErrorList = []
    own = spec.get("securityContext") or {}
    if (seccomp := own.get("seccompProfile")) is not None and SECCOMP_POD in annotations:
        place = f"{field}.securityContext.seccompProfile"
        errors += _compare(place, "seccomp", annotations[SECCOMP_POD], seccomp)
    containers = list(containers_with_fields(field, spec))
    for place, container in containers:
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        text = annotations.get(f"{SECCOMP_CONTAINER}{container['name']}")
        if profile is not None and text is not None:
            errors += _compare(f"{place}.securityContext.seccompProfile", "seccomp", text, profile)
    if (spec.get("os") or {}).get("name") == "windows":
        return errors
    for place, container in containers:
        profile = (container.get("securityContext") or {}).get("appArmorProfile", own.get("appArmorProfile"))
        text = annotations.get(f"{APP_ARMOR}{container['name']}")
        if profile is not None and text is not None:
            errors += _compare(f"{place}.securityContext.appArmorProfile", "apparmor", text, profile)
    return errors


def _compare(field: str, what: str, annotation: str, profile: Obj) -> ErrorList:
    kind = profile.get("type", "")
    if kind in ANNOTATED_AS:
        same = annotation in ANNOTATED_AS[kind]
    elif kind == "Localhost":
        same = annotation.startswith(LOCALHOST)
        if same and annotation.removeprefix(LOCALHOST) != profile.get("localhostProfile"):
            detail = f"{what} profile in annotation and field must match"
            return [forbidden_field(f"{field}.localhostProfile", detail)]
    else:
        return []
    return (
        [] if same else [forbidden_field(f"{field}.type", f"{what} type in annotation and field must match")]
    )
