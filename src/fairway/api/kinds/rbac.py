"""Roles and their bindings: kept; enforcement is the authorizer's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fairway.api.kind import Kind, Obj
from fairway.api.kinds.pod_spec.names import validate_subdomain
from fairway.api.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from fairway.api.selectors import SelectorError, label_selector
from fairway.api.validation.fields import (
    ErrorList,
    invalid_for_each,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.internal_form import shown
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.names import path_segment_errors, path_segment_name
from fairway.api.validation.selectors import shown_selector, validate_label_selector
from fairway.api.validation.values import IMMUTABLE

GROUP: Final = "rbac.authorization.k8s.io"
SUBJECT_KINDS: Final = ("ServiceAccount", "User", "Group")
SELECTORS: Final = "aggregationRule.clusterRoleSelectors"


def default_binding(binding: Obj) -> None:
    reference = binding.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = GROUP
    for subject in binding.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = GROUP


def validate_rules(namespaced: bool) -> Callable[[Obj], ErrorList]:
    """What is missing altogether is noted last."""

    def validate(role: Obj) -> ErrorList:
        rules = role.get("rules") or ()
        errors: ErrorList = []
        for index, rule in enumerate(rules):
            errors += _validate_rule(f"rules[{index}]", rule, namespaced)
        if role.get("aggregationRule") is not None:
            errors += _validate_aggregation(role["aggregationRule"].get("clusterRoleSelectors") or [])
        return errors + [
            required(f"rules[{index}].verbs") for index, rule in enumerate(rules) if not rule.get("verbs")
        ]

    return validate


def _validate_rule(field: str, rule: Obj, namespaced: bool) -> ErrorList:
    errors: ErrorList = []
    if urls := rule.get("nonResourceURLs"):
        if namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            errors.append(invalid_value(f"{field}.nonResourceURLs", urls, detail))
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid_value(f"{field}.nonResourceURLs", urls, detail))
        return errors
    if not rule.get("apiGroups"):
        detail = "resource rules must supply at least one api group"
        errors.append(required(f"{field}.apiGroups", detail))
    if not rule.get("resources"):
        detail = "resource rules must supply at least one resource"
        errors.append(required(f"{field}.resources", detail))
    return errors


def _validate_aggregation(selectors: list[Obj]) -> ErrorList:
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        return [required(SELECTORS, detail)]
    errors: ErrorList = []
    for index, selector in enumerate(selectors):
        errors += validate_label_selector(f"{SELECTORS}[{index}]", selector)
        try:
            label_selector(selector)
        except SelectorError:
            value = shown_selector(selector)
            errors.append(invalid_value(f"{SELECTORS}[{index}]", value, "invalid label selector."))
    return errors


def validate_binding(namespaced: bool) -> Callable[[Obj], ErrorList]:
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)

    def validate(binding: Obj) -> ErrorList:
        reference, subjects = binding["roleRef"], binding.get("subjects") or ()
        errors: ErrorList = []
        if reference.get("apiGroup") != GROUP:
            errors.append(not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), [GROUP]))
        if reference.get("kind") not in kinds:
            errors.append(not_supported("roleRef.kind", reference.get("kind", ""), kinds))
        name = reference.get("name", "")
        errors += invalid_for_each("roleRef.name", name, path_segment_errors(name))
        for index, subject in enumerate(subjects):
            errors += _validate_subject(f"subjects[{index}]", subject, namespaced)
        missing = [f"subjects[{index}].name" for index, each in enumerate(subjects) if not each.get("name")]
        return errors + [required(place) for place in missing + ([] if name else ["roleRef.name"])]

    return validate


def _validate_subject(field: str, subject: Obj, namespaced: bool) -> ErrorList:
    kind, name, group = (subject.get(part, "") for part in ("kind", "name", "apiGroup"))
    errors: ErrorList = []
    if kind == "ServiceAccount":
        if name:
            errors += validate_subdomain(f"{field}.name", name)
        if group:
            errors.append(not_supported(f"{field}.apiGroup", group, [""]))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{field}.namespace"))
    elif kind in SUBJECT_KINDS:
        if group != GROUP:
            errors.append(not_supported(f"{field}.apiGroup", group, [GROUP]))
    else:
        errors.append(not_supported(f"{field}.kind", kind, SUBJECT_KINDS))
    return errors


def validate_fixed_role(new: Obj, old: Obj) -> ErrorList:
    if new["roleRef"] == old["roleRef"]:
        return []
    return [invalid_value("roleRef", shown("rbac.v1.RoleRef", new["roleRef"]), IMMUTABLE)]


def _role(namespaced: bool) -> Kind:
    validate = validate_rules(namespaced)
    return Kind(
        ROLES if namespaced else CLUSTER_ROLES,
        validate=validate,
        validate_update=lambda new, old: validate_kept_finalizers(new["metadata"]) + validate(new),
        name_errors=path_segment_name,
    )


def _binding(namespaced: bool) -> Kind:
    validate = validate_binding(namespaced)
    return Kind(
        ROLE_BINDINGS if namespaced else CLUSTER_ROLE_BINDINGS,
        default=default_binding,
        validate=validate,
        validate_update=lambda new, old: [
            *validate_kept_finalizers(new["metadata"]),
            *validate(new),
            *validate_fixed_role(new, old),
        ],
        name_errors=path_segment_name,
    )


ALL = (_role(True), _binding(True), _role(False), _binding(False))
