import asyncio
from typing import Any

import pytest

from fairway.client import ApiError, NotFound, Unavailable
from fairway.nodeagent.objects import Pod
from fairway.nodeagent.pods import reporting
from fairway.nodeagent.pods.reporting import StatusReporter, delete_until_gone
from tests.unit.nodeagent.objects import make_pod

POD = make_pod()


class FakeApi:
    """Fails as often as it is told to, then remembers."""

    def __init__(self, *failures: ApiError) -> None:
        self.failures = list(failures)
        self.written: list[dict[str, Any]] = []
        self.deleted: list[str] = []

    async def write_status(self, pod: Pod, status: dict[str, Any]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.written.append(status)

    async def delete(self, pod: Pod) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.deleted.append(pod.metadata.uid)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "_FIRST_PAUSE", 0.0)


async def reported(api: FakeApi, *statuses: dict[str, Any]) -> None:
    reporter = StatusReporter(api)
    task = asyncio.create_task(reporter.run())
    for status in statuses:
        reporter.report(POD, status)
    await asyncio.wait_for(reporter.flushed(), 5)
    task.cancel()


async def test_of_several_statuses_only_the_latest_is_written() -> None:
    api = FakeApi()
    await reported(api, {"phase": "Pending"}, {"phase": "Running"})
    assert api.written == [{"phase": "Running"}]


async def test_an_unchanged_status_is_not_written_again() -> None:
    api = FakeApi()
    reporter = StatusReporter(api)
    task = asyncio.create_task(reporter.run())
    for _ in range(3):
        reporter.report(POD, {"phase": "Running"})
        await reporter.flushed()
    task.cancel()
    assert api.written == [{"phase": "Running"}]


async def test_a_status_is_tried_again_until_the_server_has_it() -> None:
    api = FakeApi(Unavailable(0, "Unreachable"), ApiError(500, "InternalError"))
    await reported(api, {"phase": "Running"})
    assert api.written == [{"phase": "Running"}]


async def test_a_status_for_a_pod_that_is_gone_is_given_up() -> None:
    api = FakeApi(NotFound(404))
    await reported(api, {"phase": "Running"})
    assert api.written == []


async def test_a_pod_is_deleted_until_it_is_gone() -> None:
    api = FakeApi(Unavailable(503), Unavailable(503))
    await delete_until_gone(api, POD)
    assert api.deleted == [POD.metadata.uid]
    await delete_until_gone(FakeApi(NotFound(404)), POD)
