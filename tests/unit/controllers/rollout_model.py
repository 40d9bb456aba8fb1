"""A Deployment with its ReplicaSets as numbers: applies plans to them, for tests of whole rollouts."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from fairway.controllers.deployment.plan import plan
from fairway.controllers.workloads import Deployment, DeploymentStatus, ReplicaSet
from fairway.controllers.writes import Create, Delete, Patch, Plan

from .objects import NOW, deployment, template


class Rollout:
    """Pods of a set come up unready the moment it is sized, and go the moment it shrinks."""

    def __init__(self, replicas: int = 3, image: str = "app:1", **fields: Any) -> None:
        self.deployment: Deployment = deployment(replicas, image, **fields)
        self.sets: dict[str, ReplicaSet] = {}
        self.now = NOW

    def step(self) -> Plan:
        """One look of the controller, its writes applied."""
        result = plan(self.deployment, self.sets.values(), {}, self.now)
        for write in result.writes:
            match write:
                case Create():
                    made = msgspec.convert(msgspec.to_builtins(write.obj), ReplicaSet)
                    stamped = replace(
                        made.metadata, uid=f"uid-{made.metadata.name}", generation=1,
                        creation_timestamp=f"2026-01-01T00:00:{len(self.sets):02d}Z",
                    )  # fmt: skip
                    self.sets[made.metadata.name] = replace(made, metadata=stamped)
                case Patch(resource=resource) if resource.kind == "ReplicaSet":
                    self._patch_set(write)
                case Patch():
                    self._patch_deployment(write)
                case Delete():
                    del self.sets[write.name]
        self._pods_follow()
        return result

    def settle(self) -> None:
        """Until the controller has nothing more to do."""
        for _ in range(50):
            if not self.step().writes:
                return
        raise AssertionError("the controller never comes to rest")

    def become_available(self, name: str, count: int = 1000) -> None:
        item = self.sets[name]
        ready = min(item.status.replicas, item.status.available_replicas + count)
        self.sets[name] = replace(
            item, status=replace(item.status, ready_replicas=ready, available_replicas=ready)
        )

    def all_available(self) -> None:
        for _ in range(50):
            before = (dict(self.sets), self.deployment)
            for name in list(self.sets):
                self.become_available(name)
            self.settle()
            if before == (self.sets, self.deployment):
                return
        raise AssertionError("the rollout never ends")

    def change(self, **spec: Any) -> None:
        if image := spec.pop("image", None):
            spec["template"] = template(image)
        meta = self.deployment.metadata
        self.deployment = replace(
            self.deployment,
            metadata=replace(meta, generation=meta.generation + 1),
            spec=replace(self.deployment.spec, **spec),
        )

    @property
    def sizes(self) -> dict[str, int]:
        """Replicas by image."""
        return {_image(item): item.spec.replicas for item in self.sets.values()}

    @property
    def total(self) -> int:
        return sum(item.status.replicas for item in self.sets.values())

    @property
    def available(self) -> int:
        return sum(item.status.available_replicas for item in self.sets.values())

    def named(self, image: str) -> ReplicaSet:
        return next(item for item in self.sets.values() if _image(item) == image)

    def condition(self, kind: str) -> tuple[str, str]:
        found = next(c for c in self.deployment.status.conditions or () if c.type == kind)
        return found.status, found.reason

    def _patch_set(self, write: Patch) -> None:
        item = self.sets[write.name]
        notes = {**(item.metadata.annotations or {}), **write.patch["metadata"].get("annotations", {})}
        size = write.patch.get("spec", {}).get("replicas", item.spec.replicas)
        self.sets[write.name] = replace(
            item, metadata=replace(item.metadata, annotations=notes), spec=replace(item.spec, replicas=size)
        )

    def _patch_deployment(self, write: Patch) -> None:
        if write.subresource:
            status = {**msgspec.to_builtins(self.deployment.status), **write.patch["status"]}
            kept = {name: value for name, value in status.items() if value is not None}
            self.deployment = replace(self.deployment, status=msgspec.convert(kept, DeploymentStatus))
            return
        notes = {**(self.deployment.metadata.annotations or {}), **write.patch["metadata"]["annotations"]}
        meta = replace(self.deployment.metadata, annotations=notes)
        self.deployment = replace(self.deployment, metadata=meta)

    def _pods_follow(self) -> None:
        for name, item in self.sets.items():
            available = min(item.status.available_replicas, item.spec.replicas)
            self.sets[name] = replace(
                item,
                status=replace(
                    item.status,
                    replicas=item.spec.replicas,
                    ready_replicas=available,
                    available_replicas=available,
                    observed_generation=item.metadata.generation,
                ),
            )


def _image(item: ReplicaSet) -> str:
    return str(item.spec.template["spec"]["containers"][0]["image"])
