"""What Kubernetes' controllers made of given objects, ours make of them, too.

Cases that go another way on purpose are in docs/compatibility.md, with the reason.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.server import FAIRWAY, ApiServer, api_server

HERE = Path(__file__).parent
COMPATIBILITY = HERE.parents[1] / "docs" / "compatibility.md"
# The replayer plays nodes and Pods itself, so nothing may schedule, evict or clean up Pods beside it.
CONTROLLERS = "*,-scheduler,-node-lifecycle-controller,-pod-garbage-collector-controller"
DUAL_STACK = ("--service-cluster-ip-range", "10.96.0.0/16,fd00:96::/112")
DEVIATION = re.compile(r"^\| `controllers: ([\w.-]+)` \|", re.MULTILINE)
REPLAY_SECONDS = 1500


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp("controllers")
    with api_server(folder, *DUAL_STACK) as server, (folder / "controllers.log").open("wb") as log:
        process = subprocess.Popen(
            [FAIRWAY, "controllers", "--kubeconfig", str(server.kubeconfig), "--controllers", CONTROLLERS],
            stdout=log,
            stderr=log,
        )
        yield server
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.mark.timeout(REPLAY_SECONDS + 60)
def test_controllers_make_what_kubernetes_controllers_made(control_plane: ApiServer) -> None:
    replayer = HERE / "golden" / "replay_controllers.py"
    done = subprocess.run(
        [sys.executable, str(replayer), "--kubeconfig", str(control_plane.kubeconfig)],
        capture_output=True,
        text=True,
        timeout=REPLAY_SECONDS,
    )
    assert re.search(r"^\d+ of \d+ cases hold$", done.stdout, re.MULTILINE), done.stdout + done.stderr
    failing = set(re.findall(r"^FAILS ([\w.-]+):", done.stdout, re.MULTILINE))
    assert failing == set(DEVIATION.findall(COMPATIBILITY.read_text())), done.stdout
