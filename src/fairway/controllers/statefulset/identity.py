"""The name, number and labels of a StatefulSet's Pod."""

from __future__ import annotations

from fairway.api.objects import ObjectMeta, OwnerReference, Pod
from fairway.api.resources import PODS
from fairway.controllers.podtemplate import pod_from
from fairway.controllers.statefulset.claims import with_claims
from fairway.controllers.workloads import StatefulSet, Template
from fairway.controllers.writes import Create, Patch

NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"


def ordinal_of(owner: ObjectMeta, pod: Pod) -> int | None:
    prefix, _, number = pod.metadata.name.rpartition("-")
    return int(number) if prefix == owner.name and number.isdecimal() else None


def revision_of(pod: Pod) -> str:
    return pod.metadata.label(REVISION_LABEL)


def identity_repair(owner: ObjectMeta, pod: Pod) -> list[Patch]:
    """An adopted Pod may lack the labels that its number means."""
    name, ordinal = pod.metadata.name, ordinal_of(owner, pod)
    if pod.metadata.label(NAME_LABEL) == name:
        return []
    labels = {NAME_LABEL: name, INDEX_LABEL: str(ordinal)}
    return [
        Patch(PODS, pod.metadata.namespace, name, {"metadata": {"uid": pod.metadata.uid, "labels": labels}})
    ]


def new_pod(
    owner: StatefulSet,
    reference: OwnerReference,
    template: Template,
    revision: str,
    ordinal: int,
    *,
    claims: bool,
) -> Create:
    name = f"{owner.metadata.name}-{ordinal}"
    metadata = template.get("metadata") or {}
    labels = {
        **(metadata.get("labels") or {}),
        NAME_LABEL: name,
        INDEX_LABEL: str(ordinal),
        REVISION_LABEL: revision,
    }
    spec = {**(template.get("spec") or {}), "hostname": name}
    if owner.spec.service_name:
        spec["subdomain"] = owner.spec.service_name
    if owner.spec.volume_claim_templates:
        spec["volumes"] = with_claims(owner, name, spec.get("volumes") or [], claims=claims)
    numbered = {**template, "metadata": {**metadata, "labels": labels}, "spec": spec}
    return pod_from(numbered, reference, owner.metadata.namespace, name=name)
