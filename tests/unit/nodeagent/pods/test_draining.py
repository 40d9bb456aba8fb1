from typing import Any

import msgspec
import pytest

from fairway.nodeagent.pods.draining import Lease, Slice, laggards, removal_revision

UID = "pod-uid"
NOW = 1_700_000_000.0
RECENT, OLD = "2023-11-14T22:13:15.000000Z", "2023-11-14T22:00:00.000000Z"


def slice_with(revision: int, ready: bool | None, uid: str = UID) -> Slice:
    endpoint = {"targetRef": {"uid": uid}, "conditions": {"ready": ready}}
    return msgspec.convert({"metadata": {"resourceVersion": str(revision)}, "endpoints": [endpoint]}, Slice)


def lease(name: str, programmed: int, renewed: str = RECENT, seconds: int | None = None) -> Lease:
    spec: dict[str, Any] = {"renewTime": renewed, "leaseDurationSeconds": seconds}
    annotations = {"fairway.dev/programmed": str(programmed)}
    return msgspec.convert({"metadata": {"name": name, "annotations": annotations}, "spec": spec}, Lease)


def behind(slices: list[Slice], *leases: Lease, given_up: dict[str, str] | None = None) -> Any:
    return laggards(slices, leases, UID, NOW, given_up or {})


def test_everyone_must_have_passed_the_revision_that_took_the_pod_out() -> None:
    out = [slice_with(50, ready=False)]
    assert behind(out, lease("fairway-progress-a", 49), lease("fairway-progress-b", 50)) == {
        "fairway-progress-a"
    }
    assert behind(out, lease("fairway-progress-a", 51)) == set()


def test_of_several_slices_the_newest_counts() -> None:
    assert removal_revision([slice_with(50, False), slice_with(70, False)], UID) == 70


@pytest.mark.parametrize("ready", [True, None])
def test_nobody_can_have_heard_while_a_slice_still_calls_the_pod_ready(ready: bool | None) -> None:
    assert behind([slice_with(50, ready)], lease("fairway-progress-a", 99)) is None


def test_a_pod_in_no_slice_need_not_wait() -> None:
    assert behind([slice_with(50, True, uid="other")], lease("fairway-progress-a", 1)) == set()


def test_without_anyone_publishing_progress_there_is_nobody_to_wait_for() -> None:
    assert behind([slice_with(50, True)]) == set()
    assert behind([slice_with(50, True)], lease("kube-scheduler", 0)) == set()


def test_a_lease_that_has_run_out_counts_no_more() -> None:
    out = [slice_with(50, False)]
    assert behind(out, lease("fairway-progress-a", 1, OLD, seconds=40)) == set()
    assert behind(out, lease("fairway-progress-a", 1, RECENT, seconds=40)) == {"fairway-progress-a"}


def test_a_lease_without_a_duration_counts_however_long_it_has_been_quiet() -> None:
    assert behind([slice_with(50, False)], lease("fairway-progress-a", 1, OLD)) == {"fairway-progress-a"}


def test_one_given_up_counts_again_after_its_next_sign_of_life() -> None:
    out = [slice_with(50, False)]
    given_up = {"fairway-progress-a": OLD}
    assert behind(out, lease("fairway-progress-a", 1, OLD), given_up=given_up) == set()
    assert behind(out, lease("fairway-progress-a", 1, RECENT), given_up=given_up) == {"fairway-progress-a"}
