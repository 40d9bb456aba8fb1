"""What the `kube-root-ca.crt` ConfigMap of a namespace has to become."""

from __future__ import annotations

from fairway.api.objects import ObjectMeta, View
from fairway.api.resources import CONFIG_MAPS
from fairway.controllers.namespaces import Namespace, is_active
from fairway.controllers.writes import Create, Patch, Plan

NAME = "kube-root-ca.crt"
KEY = "ca.crt"
DESCRIPTION = "kubernetes.io/description"
DESCRIPTION_TEXT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as"
    " the internal service IP or kubernetes.default hostname. No other usage is guaranteed across"
    " distributions of Kubernetes clusters."
)


class ConfigMap(View, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None


def plan(namespace: Namespace | None, current: ConfigMap | None, bundle: str) -> Plan:
    if namespace is None or not is_active(namespace):
        return Plan()
    name, notes = namespace.metadata.name, {DESCRIPTION: DESCRIPTION_TEXT}
    if current is None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": NAME, "namespace": name, "annotations": notes},
            "data": {KEY: bundle},
        }
        return Plan((Create(CONFIG_MAPS, name, body),))
    described = current.metadata.annotation(DESCRIPTION) == DESCRIPTION_TEXT
    if current.data == {KEY: bundle} and described:
        return Plan()
    others = {key: None for key in current.data or () if key != KEY}
    patch = {"metadata": {"annotations": notes}, "data": {KEY: bundle, **others}}
    return Plan((Patch(CONFIG_MAPS, name, NAME, patch),))
