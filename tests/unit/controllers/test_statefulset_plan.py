"""StatefulSets: in order up, in reverse order down and over, and names that stay."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fairway.api.objects import Pod
from fairway.api.resources import PODS
from fairway.controllers.selectors import LabelSelector
from fairway.controllers.statefulset.plan import plan
from fairway.controllers.workloads import (
    ControllerRevision,
    Ordinals,
    RollingUpdate,
    StatefulSet,
    StatefulSetSpec,
    StatefulSetStatus,
    UpdateStrategy,
)
from fairway.controllers.writes import Create, Delete, Patch

from .objects import NOW, WEB, meta, pod, template


class Sets:
    """A StatefulSet, its Pods and history; `look` takes one step and applies it."""

    def __init__(self, replicas: int = 3, **spec: Any) -> None:
        self.owner = StatefulSet(
            meta("web", generation=1),
            StatefulSetSpec(
                replicas=replicas,
                service_name="web",
                selector=LabelSelector(match_labels=WEB),
                template=template(),
                **spec,
            ),
        )
        self.pods: dict[str, Pod] = {}
        self.history: dict[str, ControllerRevision] = {}

    def look(self) -> list[str]:
        """What happened to Pods, as `+name` and `-name`."""
        told = []
        for write in plan(self.owner, list(self.pods.values()), list(self.history.values()), NOW).writes:
            match write:
                case Create(resource=resource) if resource.kind == "Pod":
                    told.append(f"+{write.name}")
                    self.pods[write.name] = _pod(write)
                case Create():
                    made = msgspec.convert(msgspec.to_builtins(write.obj), ControllerRevision)
                    self.history[write.name] = made
                case Patch(subresource="status"):
                    old = msgspec.to_builtins(self.owner.status)
                    new = {k: v for k, v in {**old, **write.patch["status"]}.items() if v is not None}
                    self.owner = replace(self.owner, status=msgspec.convert(new, StatefulSetStatus))
                case Patch():
                    self.history[write.name] = replace(
                        self.history[write.name], revision=write.patch["revision"]
                    )
                case Delete():
                    told.append(f"-{write.name}")
                    del self.pods[write.name]
        return told

    def run(self) -> list[str]:
        """Looks, with every Pod becoming ready at once, until nothing happens any more."""
        told: list[str] = []
        for _ in range(60):
            before = (self.owner, dict(self.pods), dict(self.history))
            told += self.look()
            for name in self.pods:
                self.ready(name)
            if before == (self.owner, self.pods, self.history):
                return told
        raise AssertionError("it never comes to rest")

    def ready(self, name: str, ready: bool = True) -> None:
        status = pod(name, "10.0.0.1", ready=ready).status
        self.pods[name] = replace(self.pods[name], status=status)

    def change(self, **spec: Any) -> None:
        if image := spec.pop("image", None):
            spec["template"] = template(image)
        generation = self.owner.metadata.generation + 1
        self.owner = replace(
            self.owner,
            metadata=replace(self.owner.metadata, generation=generation),
            spec=replace(self.owner.spec, **spec),
        )

    @property
    def images(self) -> dict[str, str]:
        return {name: made.spec.containers[0].image for name, made in sorted(self.pods.items())}


def _pod(write: Create) -> Pod:
    made = msgspec.convert(msgspec.to_builtins(write.obj), Pod)
    status = replace(made.status, phase="Pending")
    return replace(made, metadata=replace(made.metadata, uid=f"uid-{write.name}"), status=status)


def test_pods_come_one_after_the_other_each_when_the_last_is_ready() -> None:
    sets = Sets(3)
    assert sets.look() == []  # the revision first
    assert sets.look() == ["+web-0"]
    assert sets.look() == []
    sets.ready("web-0")
    assert sets.look() == ["+web-1"]


def test_an_unready_pod_holds_the_next_one_back() -> None:
    sets = Sets(3)
    sets.look()
    sets.look()
    sets.ready("web-0")
    sets.look()
    sets.ready("web-0", ready=False)
    sets.ready("web-1")
    assert sets.look() == []


def test_parallel_ones_come_all_at_once() -> None:
    sets = Sets(3, pod_management_policy="Parallel")
    sets.look()
    assert sets.look() == ["+web-0", "+web-1", "+web-2"]


def test_a_pod_has_a_name_a_number_and_a_host_name() -> None:
    sets = Sets(1, ordinals=Ordinals(start=5))
    sets.run()
    (made,) = sets.pods.values()
    assert made.metadata.labels == {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "web-5",
        "apps.kubernetes.io/pod-index": "5",
        "controller-revision-hash": sets.owner.status.update_revision,
    }
    assert (made.spec.hostname, made.spec.subdomain) == ("web-5", "web")


def test_scaling_down_takes_the_highest_first() -> None:
    sets = Sets(3)
    sets.run()
    sets.change(replicas=1)
    assert sets.run() == ["-web-2", "-web-1"]


def test_an_update_goes_from_the_highest_down_one_at_a_time() -> None:
    sets = Sets(3)
    sets.run()
    sets.change(image="app:2")
    sets.look()
    assert sets.look() == ["-web-2"]
    assert sets.look() == ["+web-2"]
    assert sets.look() == []  # web-2 is not ready yet
    assert sets.run() == ["-web-1", "+web-1", "-web-0", "+web-0"]
    status = sets.owner.status
    assert status.current_revision == status.update_revision
    assert (status.current_replicas, status.updated_replicas) == (3, 3)


def test_a_partition_keeps_lower_numbers_as_they_are() -> None:
    sets = Sets(3, update_strategy=UpdateStrategy("RollingUpdate", RollingUpdate(partition=2)))
    sets.run()
    sets.change(image="app:2")
    sets.run()
    assert sets.images == {"web-0": "app:1", "web-1": "app:1", "web-2": "app:2"}
    del sets.pods["web-0"]
    sets.run()
    assert sets.images["web-0"] == "app:1"


def test_on_delete_waits_for_someone_to_delete() -> None:
    sets = Sets(2, update_strategy=UpdateStrategy("OnDelete"))
    sets.run()
    sets.change(image="app:2")
    assert sets.run() == []
    del sets.pods["web-0"]
    sets.run()
    assert sets.images == {"web-0": "app:2", "web-1": "app:1"}


def test_a_failed_pod_is_removed_and_made_again() -> None:
    sets = Sets(1)
    sets.run()
    sets.pods["web-0"] = replace(sets.pods["web-0"], status=pod("x", phase="Failed").status)
    assert sets.run() == ["-web-0", "+web-0"]


def test_going_back_takes_the_old_revision_up_again() -> None:
    sets = Sets(1)
    sets.run()
    sets.change(image="app:2")
    sets.run()
    sets.change(image="app:1")
    sets.run()
    assert sorted(r.revision for r in sets.history.values()) == [2, 3]
    assert sets.images == {"web-0": "app:1"}


def test_nothing_is_written_once_all_agree() -> None:
    sets = Sets(2)
    sets.run()
    assert not plan(sets.owner, list(sets.pods.values()), list(sets.history.values()), NOW)


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_a_set_that_is_going_does_nothing(policy: str) -> None:
    sets = Sets(2, pod_management_policy=policy)
    sets.owner = replace(sets.owner, metadata=replace(sets.owner.metadata, deletion_timestamp="now"))
    assert sets.look() == []
    assert not sets.history


# ---- several at a time ---------------------------------------------------------------------------------


def updating(most: int | str, replicas: int = 4, **spec: Any) -> Sets:
    strategy = UpdateStrategy("RollingUpdate", RollingUpdate(max_unavailable=most))
    sets = Sets(replicas, update_strategy=strategy, **spec)
    sets.run()
    sets.change(image="app:2")
    sets.look()  # the revision
    return sets


@pytest.mark.parametrize(
    ("most", "first"),
    [(2, ["-web-3", "-web-2"]), ("75%", ["-web-3", "-web-2", "-web-1"]), ("10%", ["-web-3"])],
)
def test_an_update_takes_as_many_at_a_time_as_may_be_missing(most: int | str, first: list[str]) -> None:
    sets = updating(most)
    assert sets.look() == first
    sets.run()
    assert set(sets.images.values()) == {"app:2"}


def test_in_parallel_those_that_serve_nobody_go_first_and_at_once() -> None:
    sets = updating(1, pod_management_policy="Parallel")
    sets.ready("web-0", ready=False)
    sets.ready("web-1", ready=False)
    assert sets.look() == ["-web-1", "-web-0"]  # and no other: two are missing already


def test_an_adopted_pod_gets_the_labels_of_its_number() -> None:
    sets = Sets(1, update_strategy=UpdateStrategy("OnDelete"))
    sets.look()
    sets.pods["web-0"] = pod("web-0", "10.0.0.1")
    patches = [w for w in plan(sets.owner, list(sets.pods.values()), list(sets.history.values()), NOW).writes
               if isinstance(w, Patch) and w.resource == PODS]  # fmt: skip
    assert [p.patch["metadata"]["labels"] for p in patches] == [
        {"statefulset.kubernetes.io/pod-name": "web-0", "apps.kubernetes.io/pod-index": "0"}
    ]


# ---- claims --------------------------------------------------------------------------------------------

CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}


def first_look(*, claims: bool) -> Any:
    sets = Sets(1, volume_claim_templates=[CLAIM])
    sets.look()
    return plan(sets.owner, [], list(sets.history.values()), NOW, claims=claims)


def test_where_there_are_claims_each_pod_has_its_own_made_before_it() -> None:
    step = first_look(claims=True)
    claim, made = (w for w in step.writes if isinstance(w, Create))
    assert (claim.resource.kind, claim.name) == ("PersistentVolumeClaim", "data-web-0")
    assert claim.obj["metadata"]["labels"] == WEB
    volumes = made.obj["spec"]["volumes"]
    assert volumes == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}]
    assert step.notices == ()


def test_where_there_are_none_a_folder_stands_in_and_a_warning_says_so() -> None:
    step = first_look(claims=False)
    (made,) = (w for w in step.writes if isinstance(w, Create))
    assert made.obj["spec"]["volumes"] == [{"name": "data", "emptyDir": {}}]
    (notice,) = step.notices
    assert notice.warning
    assert "lost with the pod" in notice.message
