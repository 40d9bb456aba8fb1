"""Templates of Pods in workloads, and the selectors that have to match them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairway.api.kind import Obj
from fairway.api.kinds.pod.annotations import validate_pod_annotations, validate_profiles_agree
from fairway.api.kinds.pod.preparation import drop_outdated_annotations
from fairway.api.kinds.pod_spec.defaults import default_pod_spec
from fairway.api.kinds.pod_spec.validation import validate_pod_spec
from fairway.api.kinds.pod_spec.warnings import spec_warnings
from fairway.api.selectors import SelectorError, label_selector
from fairway.api.tables.selector_text import requirements_text
from fairway.api.validation.fields import (
    ErrorList,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from fairway.api.validation.metadata import validate_annotations
from fairway.api.validation.selectors import shown_selector, validate_label_selector, validate_labels

NO_MATCH: Final = "`selector` does not match template `labels`"


def default_template(workload: Obj) -> Obj:
    """Fills in the template, and answers with the workload's spec."""
    if workload.get("spec") is None:
        workload["spec"] = {}
    spec: Obj = workload["spec"]
    template = spec.get("template")
    if template is not None:
        if template.get("metadata") is None:
            template["metadata"] = {}
        drop_outdated_annotations(template["metadata"])
        if template.get("spec") is None:
            template["spec"] = {}
        default_pod_spec(template["spec"])
    return spec


def set_default(owner: Obj, name: str, value: Any) -> None:
    """What is null or empty counts as not given."""
    if owner.get(name) in (None, ""):
        owner[name] = value


def validate_template(field: str, template: Obj) -> ErrorList:
    metadata, spec = template.get("metadata") or {}, template["spec"]
    errors = validate_template_metadata(field, metadata, spec)
    errors += validate_pod_spec(f"{field}.spec", spec)
    errors += validate_profiles_agree(f"{field}.spec", metadata, spec)
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        errors.append(forbidden_field(f"{field}.spec.ephemeralContainers", detail))
    return errors


def validate_template_metadata(field: str, metadata: Obj, spec: Obj) -> ErrorList:
    errors = validate_labels(f"{field}.labels", metadata.get("labels"))
    errors += validate_annotations(f"{field}.annotations", metadata.get("annotations"))
    return errors + validate_pod_annotations(f"{field}.annotations", metadata, spec)


def validate_keeps_running(field: str, spec: Obj, kind: str) -> ErrorList:
    """Pods of workloads are started again for ever."""
    errors: ErrorList = []
    if spec.get("restartPolicy") != "Always":
        errors.append(not_supported(f"{field}.restartPolicy", spec.get("restartPolicy", ""), ["Always"]))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden_field(f"{field}.activeDeadlineSeconds", detail))
    return errors


def validate_selector(field: str, selector: Obj | None, kind: str) -> ErrorList:
    if selector is None:
        return [required(field)]
    errors = validate_label_selector(field, selector)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid_value(field, {}, f"empty selector is invalid for {kind}"))
    return errors


def validate_match(field: str, selector: Obj | None, template: Obj) -> ErrorList:
    """Of a selector that makes sense; an empty one is complained of elsewhere.

    Raises SelectorError for one that doesn't.
    """
    labels = (template.get("metadata") or {}).get("labels")
    read = label_selector(selector)
    if read is not None and (read.empty or read.matches(labels or {})):
        return []
    return [invalid_value(f"{field}.metadata.labels", _shown_labels(labels), NO_MATCH)]


def _shown_labels(labels: Mapping[str, str] | None) -> dict[str, str] | None:
    return dict(sorted(labels.items())) if labels else None


def validate_replicated_template(field: str, spec: Obj) -> ErrorList:
    """Selector and template of Deployments and ReplicaSets."""
    selector, template = spec.get("selector"), spec["template"]
    place = f"{field}.template"
    try:
        errors = validate_match(place, selector, template)
    except SelectorError:
        return [invalid_value(f"{field}.selector", shown_selector(selector), "invalid label selector")]
    errors += validate_template(place, template)
    return errors + validate_keeps_running(f"{place}.spec", template["spec"], "ReplicaSet")


def template_warnings(workload: Obj) -> list[str]:
    template = (workload.get("spec") or {}).get("template")
    if not template:
        return []
    return spec_warnings("spec.template.", template.get("spec") or {}, template.get("metadata") or {})


def changed_template_warnings(new: Obj, old: Obj) -> list[str]:
    """On updates, only if the desired state has changed."""
    same = new["metadata"].get("generation") == old["metadata"].get("generation")
    return [] if same else template_warnings(new)


def selector_text(workload: Obj) -> str:
    return requirements_text((workload.get("spec") or {}).get("selector"))


def without_status(status: Obj) -> Any:
    """A new object starts with an empty status, whatever a client sends."""

    def prepare(workload: Obj) -> None:
        workload["status"] = dict(status)

    return prepare


def keep_status(new: Obj, old: Obj) -> None:
    new["status"] = old.get("status", {})
