"""What to tell a client whose Pod is accepted, though something about it is not as it should be.

`root` is what stands before `spec` and `metadata` in the fields' names: nothing for a Pod, `spec.template.`
for a template.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod_spec.containers import containers_with_fields
from fairway.api.kinds.pod_spec.port_warnings import port_warnings
from fairway.api.schema.quantity import value_of
from fairway.api.validation.names import dns_label_errors
from fairway.api.validation.network import ip_warnings
from fairway.api.validation.quoting import quoted

NODE_LABELS: Final = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
VOLUMES: Final = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
APP_ARMOR_CONTAINER: Final = "container.apparmor.security.beta.kubernetes.io/"
NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
BYTES: Final = ("memory", "ephemeral-storage")
IGNORED: Final = "IgnoredDuringExecution"


def name_warnings(name: str, used_in: str) -> list[str]:
    """Names that are no DNS labels work, but not as hostnames."""
    faults = dns_label_errors(name)
    if not faults:
        return []
    return [
        f"metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is "
        f"recommended: [{' '.join(faults)}]"
    ]


def spec_warnings(root: str, spec: Obj, metadata: Obj) -> list[str]:
    field = f"{root}spec"
    annotations = metadata.get("annotations") or {}
    warnings = list(_placement_warnings(field, spec))
    for key, message in ANNOTATIONS.items():
        if key in annotations:
            warnings.append(f"{root}metadata.annotations[{key}]: {message}")
    warnings += _volume_warnings(field, spec.get("volumes") or ())
    warnings += _list_warnings(field, spec)
    warnings += _amount_warnings(f"{field}.overhead", spec.get("overhead") or {})
    if SECCOMP_POD in annotations and not (spec.get("securityContext") or {}).get("seccompProfile"):
        warnings.append(f"{root}metadata.annotations[{SECCOMP_POD}]: {SECCOMP}")
    containers = list(containers_with_fields(field, spec))
    for place, container in containers:
        warnings += _container_warnings(root, place, container, annotations)
    if annotations:
        warnings += _app_armor_warnings(root, spec, [container for _, container in containers], annotations)
    warnings += port_warnings(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        detail = "must be >= 0; negative values are invalid and will be treated as 1"
        warnings.append(f"{field}.terminationGracePeriodSeconds: {detail}")
    warnings += _company_warnings(f"{field}.affinity", spec.get("affinity") or {})
    return warnings + _address_warnings(field, spec)


def _placement_warnings(field: str, spec: Obj) -> Iterator[str]:
    for key in sorted(spec.get("nodeSelector") or ()):
        if key in NODE_LABELS:
            yield f"{field}.nodeSelector[{key}]: {_label_advice(key)}"
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = (node.get(f"requiredDuringScheduling{IGNORED}") or {}).get("nodeSelectorTerms") or ()
    place = f"{field}.affinity.nodeAffinity"
    for index, term in enumerate(required):
        yield from _term_warnings(
            f"{place}.requiredDuringScheduling{IGNORED}.nodeSelectorTerms[{index}]", term
        )
    for index, term in enumerate(node.get(f"preferredDuringScheduling{IGNORED}") or ()):
        where = f"{place}.preferredDuringScheduling{IGNORED}[{index}].preference"
        yield from _term_warnings(where, term.get("preference") or {})
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{field}.topologySpreadConstraints[{index}]", constraint.get("topologyKey", "")
        if key in NODE_LABELS:
            yield f"{where}.topologyKey: {key} is {_label_advice(key)}"
        if constraint.get("labelSelector") is None:
            yield f"{where}.labelSelector: {NO_SELECTOR}"


def _term_warnings(field: str, term: Obj) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        key = expression.get("key", "")
        if key in NODE_LABELS:
            yield f"{field}.matchExpressions[{index}].key: {key} is {_label_advice(key)}"


def _label_advice(key: str) -> str:
    version, better = NODE_LABELS[key]
    return f'deprecated since {version}; use "{better}" instead'


def _volume_warnings(field: str, volumes: Sequence[Obj]) -> list[str]:
    return [
        f"{field}.volumes[{index}].{shown}: {message}"
        for index, volume in enumerate(volumes)
        for name, (shown, message) in VOLUMES.items()
        if volume.get(name) is not None
    ]


def _list_warnings(field: str, spec: Obj) -> Iterator[str]:
    for name, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for index, item in enumerate(spec.get(name) or ()):
            value = item.get(key, "")
            if value in seen:
                yield f"{field}.{name}[{index}].{key}: duplicate {key} {quoted(value)}"
            seen.add(value)
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{field}.imagePullSecrets[{index}].name: invalid empty name ""'


def _amount_warnings(field: str, amounts: Obj) -> Iterator[str]:
    for name in BYTES:
        if name in amounts and value_of(amounts[name]) % 1:
            value = quoted(amounts[name])
            yield f"{field}[{name}]: fractional byte value {value} is invalid, must be an integer"


def _container_warnings(root: str, field: str, container: Obj, annotations: Obj) -> list[str]:
    warnings: list[str] = []
    key = f"{SECCOMP_CONTAINER}{container['name']}"
    if key in annotations and not (container.get("securityContext") or {}).get("seccompProfile"):
        warnings.append(f"{root}metadata.annotations[{key}]: {SECCOMP}")
    resources = container.get("resources") or {}
    for name in BYTES:
        for part in ("limits", "requests"):
            amounts = resources.get(part) or {}
            if name in amounts:
                warnings += _amount_warnings(f"{field}.resources.{part}", {name: amounts[name]})
    variables = container.get("env") or ()
    return warnings + _variable_warnings(field, variables) if len(variables) > 1 else warnings


def _app_armor_warnings(root: str, spec: Obj, containers: Sequence[Obj], annotations: Obj) -> Iterator[str]:
    """Of a template's annotation that no field stands for; of a Pod's if the field was made of it."""
    general = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in containers:
        key = f"{APP_ARMOR_CONTAINER}{container['name']}"
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        if key in annotations and bool(own) == (not root) and (own or not general):
            yield f"{root}metadata.annotations[{key}]: {APP_ARMOR}"


def _variable_warnings(field: str, variables: Sequence[Obj]) -> list[str]:
    """A variable may be given twice only to build on its former value."""
    warnings: list[str] = []
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        builds_on = reference in value and value != reference and variable.get("valueFrom") is None
        if name in seen and not builds_on:
            detail = f"hides previous definition of {quoted(name)}, which may be dropped when using apply"
            warnings.append(f"{field}.env[{index}]: {detail}")
        seen.add(name)
    return warnings


def _company_warnings(field: str, affinity: Obj) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        name = f"requiredDuringScheduling{IGNORED}"
        for index, term in enumerate(rules.get(name) or ()):
            if term.get("labelSelector") is None:
                yield f"{field}.{kind}.{name}[{index}].labelSelector: {NO_SELECTOR}"
        name = f"preferredDuringScheduling{IGNORED}"
        for index, term in enumerate(rules.get(name) or ()):
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{field}.{kind}.{name}[{index}].podAffinityTerm.labelSelector: {NO_SELECTOR}"


def _address_warnings(field: str, spec: Obj) -> list[str]:
    warnings: list[str] = []
    for index, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        warnings += ip_warnings(f"{field}.dnsConfig.nameservers[{index}]", server)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        warnings += ip_warnings(f"{field}.hostAliases[{index}].ip", alias.get("ip", ""))
    return warnings
