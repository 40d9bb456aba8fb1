"""An ordinary user has the whole system too, in namespaces of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairway
from tests.e2e.clusters import eventually
from tests.e2e.machine import snapshot

MANIFEST = Path(__file__).parents[2] / "examples" / "01-hostnames" / "hostnames.yaml"
PATHS = ":".join(
    [str(Path(fairway.__file__).parents[1]), *(path for path in sys.path if path.endswith("site-packages"))]
)
USER = 65534
PORT = "7178"


def as_user(*command: str) -> list[str]:
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command]


def interpreter() -> str | None:
    """One that the user may run, in namespaces too; that of the tests may lie in root's own folder.

    So may Fairway itself, and then nobody else can run it.
    """
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin")):
        if python is None:
            continue
        entered = as_user("unshare", "--user", "--map-root-user", python, "-c", "import fairway")
        environment = {"PYTHONPATH": PATHS, "PATH": os.environ["PATH"]}
        if subprocess.run(entered, env=environment, capture_output=True, check=False).returncode == 0:
            return python
    return None


class User:
    def __init__(self, python: str, data: Path) -> None:
        self._python = python
        self.data = data
        self._environment = {
            "HOME": str(data.parent),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": PATHS,
            "KUBECONFIG": str(data / "kubeconfig"),
        }

    def run(self, *command: str) -> str:
        done = subprocess.run(
            as_user(*command),
            env=self._environment,
            cwd=self.data.parent,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def fairway(self, *words: str) -> str:
        return self.run(self._python, "-m", "fairway.cli", *words)


@pytest.fixture
def user() -> Iterator[User]:
    python = interpreter()
    if python is None:
        pytest.skip("no Python, or no Fairway, that an ordinary user may read")
    with tempfile.TemporaryDirectory(prefix="fairway-user.") as folder:
        os.chown(folder, USER, USER)
        yield User(python, Path(folder) / "data")


def test_a_user_without_root_runs_pods_behind_a_service_and_leaves_nothing(user: User) -> None:
    before = snapshot(user.data)
    user.fairway("up", "--data", str(user.data), "--port", PORT, "--detach")
    try:
        user.fairway("apply", "-f", str(MANIFEST))
        path = "jsonpath={.status.readyReplicas}"
        eventually(lambda: user.run("kubectl", "get", "deploy", "hostnames", "-o", path) == "3", "three Pods")
        pod = user.run("kubectl", "get", "pods", "-o", "name").splitlines()[0]
        answer = user.fairway("exec", pod, "--", "wget", "-qO-", "http://hostnames.default")
        assert answer.startswith("hostnames-")
        during = snapshot(user.data)
        for name in ("links", "routes", "rules", "namespaces", "mounts", "forwarding"):
            assert during[name] == before[name], f"{name} of the machine are touched"
    finally:
        user.fairway("down", "--data", str(user.data))
    eventually(lambda: not snapshot(user.data)["processes"] - before["processes"], "all has ended")
