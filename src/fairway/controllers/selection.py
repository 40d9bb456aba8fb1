"""Which Pods a Service selects and which Services select a Pod, found by label instead of by search."""

from __future__ import annotations

from collections.abc import Iterator

from fairway.api.objects import ObjectMeta, Pod, Service
from fairway.api.resources import PODS, SERVICES
from fairway.controllers.backends import looks_different
from fairway.controllers.cluster import Cluster
from fairway.controllers.selectors import contains


class Selection:
    def __init__(self, cluster: Cluster) -> None:
        self._services = cluster.cache(SERVICES, Service).index(_one_wanted_label)
        self._pods = cluster.cache(PODS, Pod).index(lambda pod: _labels(pod.metadata))

    def pods_of(self, service: Service) -> list[Pod]:
        wanted = service.spec.selector or {}
        return [
            pod
            for key in _one_wanted_label(service)
            for pod in self._pods(key)
            if contains(pod.metadata.labels or {}, wanted)
        ]

    def services_of(self, pod: Pod) -> set[str]:
        labels = pod.metadata.labels or {}
        return {
            service.metadata.key
            for key in _labels(pod.metadata)
            for service in self._services(key)
            if contains(labels, service.spec.selector or {})
        }

    def affected_by(self, old: Pod | None, new: Pod | None) -> set[str]:
        """The keys of Services that may have to publish something else after this change of a Pod."""
        if old is not None and new is not None and not looks_different(old, new):
            return set()
        return {key for pod in (old, new) if pod is not None for key in self.services_of(pod)}


def _one_wanted_label(service: Service) -> Iterator[str]:
    """Any one pair of the selector finds the candidates; always the same one, so that it can be indexed."""
    if service.spec.selector:
        name, value = min(service.spec.selector.items())
        yield f"{service.metadata.namespace}|{name}={value}"


def _labels(meta: ObjectMeta) -> Iterator[str]:
    return (f"{meta.namespace}|{name}={value}" for name, value in (meta.labels or {}).items())
