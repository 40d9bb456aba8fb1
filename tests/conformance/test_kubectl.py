"""kubectl, new and old, can't tell the API server from Kubernetes': every command shows what it shows there.

The sessions are in the folder `kubectl`; each command is a test. Where Kubernetes needs a controller for what
comes next, there is none here: what is shown is what the API server does alone.
"""

from __future__ import annotations

import contextlib
import difflib
import subprocess
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.conformance import kubectl_versions
from tests.conformance.kubectl_session import (
    FOLDER,
    PATIENCE,
    Kubectl,
    Session,
    Step,
    read_session,
    shows,
    tidied,
)
from tests.conformance.server import ApiServer, api_server

PROGRAMS: dict[str, Callable[[], str | None]] = {
    "current": kubectl_versions.current,
    "1.20": kubectl_versions.old,
}
SESSIONS = {path.stem: read_session(path) for path in sorted(FOLDER.glob("*.session"))}
ROWS = [
    pytest.param(program, step, id=f"{program} {step.id}")
    for program in PROGRAMS
    for steps in SESSIONS.values()
    for step in steps
]


def program_called(name: str) -> str:
    program = PROGRAMS[name]()
    if program is None:
        pytest.skip(f"NOT TESTED: kubectl {name} is not on this machine and can't be fetched")
    return program


@contextlib.contextmanager
def kubectl_called(name: str, factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """With a server of its own."""
    program = program_called(name)
    folder = factory.mktemp("kubectl")
    with api_server(folder) as server:
        yield Kubectl(program, server, folder)


class Stage:
    """One session at a time, played with one kubectl; the next begins with a server of its own."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._playing = ("", "")
        self._running = contextlib.ExitStack()
        self.session: Session | None = None

    @property
    def api_server(self) -> ApiServer | None:
        return self.session and self.session.api_server

    def play(self, program: str, name: str) -> Session:
        if self._playing != (program, name):
            self.close()
            kubectl = self._running.enter_context(kubectl_called(program, self._factory))
            self.session = Session(kubectl, SESSIONS[name])
            self._playing = (program, name)
        assert self.session
        return self.session

    def close(self) -> None:
        self._running.close()
        self.session = None


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    ready = Stage(tmp_path_factory)
    yield ready
    ready.close()


@pytest.mark.parametrize(("program", "step"), ROWS)
def test_command_shows_what_kubernetes_shows(
    stage: Stage, program: str, step: Step, request: pytest.FixtureRequest
) -> None:
    session = stage.play(program, step.session)
    if not step.is_for(session.version):
        pytest.skip("not for this kubectl")
    if step.open:
        request.applymarker(pytest.mark.xfail(strict=True, reason=step.open))
    shown = session.shown(step)
    assert shown.status == step.status, shown.text
    assert shows(step.expected, shown.text), difference(step.expected, shown.text)


def difference(expected: str, shown: str) -> str:
    lines = (tidied(text).splitlines() for text in (expected, shown))
    return "\n".join(difflib.unified_diff(*lines, "expected", "shown", lineterm=""))


@pytest.fixture(scope="module", params=PROGRAMS)
def kubectl(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with kubectl_called(request.param, tmp_path_factory) as ready:
        yield ready


@pytest.mark.timeout(60)
def test_a_watch_shows_objects_as_they_come_change_and_go(kubectl: Kubectl) -> None:
    with kubectl.start("kubectl get svc --watch --output-watch-events -l app=seen") as watching:
        alarm = threading.Timer(PATIENCE, watching.kill)
        alarm.start()
        kubectl.run("kubectl create service clusterip seen --tcp=80")
        kubectl.run("kubectl create service clusterip unseen --tcp=80")
        header, added = next_row(watching), next_row(watching)
        kubectl.run("""kubectl patch svc seen -p '{"spec":{"type":"NodePort"}}'""")
        modified = next_row(watching)
        kubectl.run("kubectl label svc seen app-")
        deleted = next_row(watching)
        alarm.cancel()
        watching.terminate()
    assert header == ["EVENT", "NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"]
    assert [added[0], added[1], added[2], added[5]] == ["ADDED", "seen", "ClusterIP", "80/TCP"]
    assert [modified[0], modified[1], modified[2]] == ["MODIFIED", "seen", "NodePort"]
    assert modified[5].startswith("80:3")
    assert [deleted[0], deleted[1]] == ["DELETED", "seen"]


def next_row(watching: subprocess.Popen[str]) -> list[str]:
    assert watching.stdout
    return watching.stdout.readline().split()


def test_wait_returns_as_soon_as_the_condition_holds(kubectl: Kubectl) -> None:
    kubectl.run("kubectl create deployment waited --image=nginx")
    with kubectl.start("kubectl wait --for=condition=Available deployment/waited --timeout=20s") as waiting:
        status = {"conditions": [{"type": "Available", "status": "True"}], "observedGeneration": 1}
        kubectl.api_server.write_status("/apis/apps/v1/namespaces/default/deployments/waited", status)
        text, _ = waiting.communicate(timeout=15)
    assert text == "deployment.apps/waited condition met\n"


def test_wait_for_deletion_returns_as_soon_as_the_object_is_gone(kubectl: Kubectl) -> None:
    kubectl.run("kubectl create configmap leaving")
    with kubectl.start("kubectl wait --for=delete configmap/leaving --timeout=20s") as waiting:
        kubectl.run("kubectl delete configmap leaving")
        text, _ = waiting.communicate(timeout=15)
    assert text in (
        "configmap/leaving condition met\n",
        # What they say if the deletion was faster.
        "",
        "error: no matching resources found\n",
        'Error from server (NotFound): configmaps "leaving" not found\n',
    )


def test_the_sessions_are_as_long_as_a_users_first_day() -> None:
    assert sum(len(steps) for steps in SESSIONS.values()) > 150
