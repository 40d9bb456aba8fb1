"""ReplicationControllers: what ReplicaSets were before they had selectors of their own."""

from __future__ import annotations

from fairway.api.kind import Kind, Obj, Scale, Status
from fairway.api.kinds.pod_spec.warnings import name_warnings
from fairway.api.kinds.workloads.deployment import USED_IN
from fairway.api.kinds.workloads.numbers import validate_counts, validate_within_replicas
from fairway.api.kinds.workloads.replica_set import PARTS
from fairway.api.kinds.workloads.template import (
    NO_MATCH,
    changed_template_warnings,
    default_template,
    keep_status,
    set_default,
    template_warnings,
    validate_keeps_running,
    validate_template,
    without_status,
)
from fairway.api.resources import REPLICATION_CONTROLLERS
from fairway.api.validation.fields import ErrorList, invalid_value, required
from fairway.api.validation.metadata import validate_kept_finalizers
from fairway.api.validation.values import validate_non_negative


def default(controller: Obj) -> None:
    """Selector and labels are those of the template, if there are none."""
    spec = default_template(controller)
    set_default(spec, "replicas", 1)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not controller["metadata"].get("labels"):
            controller["metadata"]["labels"] = dict(labels)


def validate(controller: Obj) -> ErrorList:
    spec = controller["spec"]
    selector, template = spec.get("selector") or {}, spec.get("template")
    errors: ErrorList = [] if selector else [required("spec.selector")]
    errors += _validate_template(template, selector) if template else [required("spec.template")]
    # Kubernetes looks at these two last.
    errors += validate_non_negative("spec.replicas", spec["replicas"])
    return errors + validate_non_negative("spec.minReadySeconds", spec.get("minReadySeconds", 0))


def _validate_template(template: Obj, selector: Obj) -> ErrorList:
    errors: ErrorList = []
    labels = (template.get("metadata") or {}).get("labels") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        shown = dict(sorted(labels.items())) or None
        errors.append(invalid_value("spec.template.metadata.labels", shown, NO_MATCH))
    errors += validate_template("spec.template", template)
    return errors + validate_keeps_running("spec.template.spec", template["spec"], "ReplicationController")


def validate_status_update(new: Obj, old: Obj) -> ErrorList:
    status = new.get("status") or {}
    names = ("replicas", *PARTS, "observedGeneration")
    return validate_counts("status", status, names) + validate_within_replicas("status", status, PARTS)


def warnings(controller: Obj) -> list[str]:
    return name_warnings(controller["metadata"]["name"], USED_IN) + template_warnings(controller)


def _selector_text(controller: Obj) -> str:
    selector = (controller.get("spec") or {}).get("selector") or {}
    return ",".join(f"{name}={value}" for name, value in sorted(selector.items()))


def _status_replicas(controller: Obj) -> str:
    return str((controller.get("status") or {}).get("replicas", 0))


REPLICATION_CONTROLLER = Kind(
    REPLICATION_CONTROLLERS,
    default=default,
    prepare_create=without_status({"replicas": 0}),
    prepare_update=keep_status,
    validate=validate,
    validate_update=lambda new, old: validate_kept_finalizers(new["metadata"]) + validate(new),
    warnings=warnings,
    update_warnings=changed_template_warnings,
    status=Status(validate_update=validate_status_update),
    scale=Scale(_selector_text),
    generation=True,
    dependents="Orphan",
    fields={"status.replicas": _status_replicas},
)
