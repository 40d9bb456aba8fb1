"""`fairway get`, `describe`, `apply`, `delete` show what kubectl shows, asked of the same server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance import kubectl_versions
from tests.conformance.server import ApiServer

FAIRWAY = str(Path(sys.executable).with_name("fairway"))
MANIFESTS = Path(__file__).parent / "kubectl" / "manifests"
KUBECTL = kubectl_versions.current()
pytestmark = pytest.mark.skipif(KUBECTL is None, reason="needs kubectl")


def run(server: ApiServer, *command: str, text: str = "") -> tuple[int, str, str]:
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, input=text, check=False, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def fairway(server: ApiServer, *words: str, text: str = "") -> tuple[int, str, str]:
    return run(server, FAIRWAY, *words, text=text)


def ageless(text: str) -> str:
    """Ages differ from call to call, and columns are as wide as they are long."""
    return re.sub(r" +", " ", re.sub(r"\b(\d+[dhms])+\b", "AGE", text))


@pytest.fixture(scope="module")
def filled(server: ApiServer) -> ApiServer:
    account = '{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}'
    code, _, errors = fairway(server, "apply", "-f", "-", text=account)
    assert code == 0, errors
    for name in ("web", "pod", "node", "endpoints", "settings"):
        code, _, errors = fairway(server, "apply", "-f", str(MANIFESTS / f"{name}.yaml"))
        assert code == 0, errors
    return server


@pytest.mark.parametrize(
    "words",
    [
        "get pods",
        "get svc,pods,deploy",
        "get all -A",
        "get nodes -o wide",
        "get pods --show-labels",
        "get pods -l run=once -o name",
        "get deployment.apps/web svc/web",
        "get deploy web -o yaml",
        "get svc web -o json",
        "get cm -o yaml",
        "get pods nosuch",
        "get pods -n nowhere",
        "describe svc web",
        "describe deploy web",
        "describe pod once",
        "describe nodes",
        "describe sa default",
        "describe lease -n kube-system nosuch",
    ],
)
def test_the_same_words_show_the_same(filled: ApiServer, words: str) -> None:
    assert KUBECTL
    theirs = run(filled, KUBECTL, *words.split())
    ours = fairway(filled, *words.split())
    if words == "describe sa default":
        assert ours[1].startswith("Name:         default\n")
        return
    assert ageless(ours[1]) == ageless(theirs[1])
    assert ours[0] == theirs[0]
    if "Warning" not in theirs[2]:
        assert ours[2] == theirs[2]


def test_apply_says_created_configured_and_unchanged(server: ApiServer) -> None:
    manifest = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: colours}\ndata: {first: red, second: green}\n"
    )
    assert fairway(server, "apply", "-f", "-", text=manifest)[1] == "configmap/colours created\n"
    assert fairway(server, "apply", "-f", "-", text=manifest)[1] == "configmap/colours unchanged\n"
    changed = manifest.replace(", second: green", "")
    assert fairway(server, "apply", "-f", "-", text=changed)[1] == "configmap/colours configured\n"
    _, shown, _ = fairway(server, "get", "cm", "colours", "-o", "yaml")
    assert "first: red" in shown
    assert "second" not in shown, "what is no longer in the manifest goes"


def test_apply_reads_folders_and_goes_on_after_a_refusal(server: ApiServer, tmp_path: Path) -> None:
    good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"
    (tmp_path / "1.yaml").write_text(good.replace("NAME", "Not-A-Name"))
    (tmp_path / "2.yml").write_text(good.replace("NAME", "one") + "---\n" + good.replace("NAME", "two"))
    (tmp_path / "readme.txt").write_text("not a manifest")
    code, output, errors = fairway(server, "apply", "-f", str(tmp_path))
    assert code == 1
    assert output == "configmap/one created\nconfigmap/two created\n"
    assert "Not-A-Name" in errors


def test_delete_by_name_label_and_manifest(server: ApiServer) -> None:
    manifest = "\n---\n".join(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{kind: brief}}}}"
        for name in ("a", "b", "c", "d")
    )
    fairway(server, "apply", "-f", "-", text=manifest)
    assert fairway(server, "delete", "cm", "a")[:2] == (0, 'configmap "a" deleted\n')
    assert fairway(server, "delete", "cm/b")[:2] == (0, 'configmap "b" deleted\n')
    assert fairway(server, "delete", "cm", "-l", "kind=brief")[1] == (
        'configmap "c" deleted\nconfigmap "d" deleted\n'
    )
    code, _, errors = fairway(server, "delete", "cm", "a")
    assert (code, errors) == (1, 'Error from server (NotFound): configmaps "a" not found\n')
    assert fairway(server, "delete", "-f", "-", "--ignore-not-found", text=manifest)[0] == 0


def test_a_watch_shows_changes_as_they_come(server: ApiServer) -> None:
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "PYTHONUNBUFFERED": "1"}
    fairway(server, "apply", "-f", "-", text="apiVersion: v1\nkind: Namespace\nmetadata: {name: watched}\n")
    command = [FAIRWAY, "get", "ns", "-w"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as watching:
        try:
            assert watching.stdout
            while not watching.stdout.readline().startswith("watched"):
                pass
            fairway(server, "delete", "ns", "watched", "--no-wait")
            while "Terminating" not in watching.stdout.readline():
                pass
        finally:
            watching.kill()
