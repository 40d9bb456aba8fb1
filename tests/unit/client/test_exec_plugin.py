"""Credentials from a program: asked once, kept while good, asked again when refused."""

from __future__ import annotations

import json
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from fairway.api.resources import SERVICES
from fairway.client import Client, KubeConfig, KubeConfigError, Unauthorized, Unavailable
from fairway.client.credentials import Credentials
from fairway.client.exec_plugin import Credential, ExecPlugin, credential_in, run

from .fake_api import FakeApi, status

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"

# Answers with the tokens t1, t2, …; keeps what it was asked beside itself.
PROGRAM = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
runs = here / "runs"
count = int(runs.read_text()) + 1 if runs.exists() else 1
runs.write_text(str(count))
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
asked = {{"info": info, "args": sys.argv[1:], "env": os.environ.get("WHO")}}
(here / "asked").write_text(json.dumps(asked))
status = {{"token": f"t{{count}}"}}
print(json.dumps({{"apiVersion": {version!r}, "kind": "ExecCredential", "status": status}}))
"""


def program(folder: Path, version: str = V1) -> Path:
    path = folder / "plugin"
    path.write_text(PROGRAM.format(python=sys.executable, version=version))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def kubeconfig(folder: Path, server: str = "http://127.0.0.1:1", **plugin: Any) -> Path:
    settings = {"apiVersion": V1, "command": "./plugin", "interactiveMode": "IfAvailable", **plugin}
    document = {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"exec": settings}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_the_program_beside_the_kubeconfig_is_asked_and_told(tmp_path: Path, version: str) -> None:
    program(tmp_path, version)
    path = kubeconfig(
        tmp_path,
        apiVersion=version,
        args=["get-token"],
        env=[{"name": "WHO", "value": "jane"}],
        provideClusterInfo=True,
    )
    config = await Credentials(KubeConfig.load(path)).current()
    assert config.authorization() == "Bearer t1"
    asked = json.loads((tmp_path / "asked").read_text())
    assert (asked["args"], asked["env"]) == (["get-token"], "jane")
    spec = {"interactive": False, "cluster": {"server": "http://127.0.0.1:1"}}
    assert asked["info"] == {"apiVersion": version, "kind": "ExecCredential", "spec": spec}


async def test_a_refused_token_is_asked_for_again_and_the_call_succeeds(api: FakeApi, tmp_path: Path) -> None:
    program(tmp_path)
    refusal = status(401, "Unauthorized")
    api.answers = [web.json_response({}), refusal, web.json_response({})]
    async with Client(KubeConfig.load(kubeconfig(tmp_path, api.url))) as client:
        await client.get(SERVICES, "a", namespace="b")
        await client.get(SERVICES, "a", namespace="b")
    assert [seen.headers["authorization"] for seen in api.seen] == ["Bearer t1", "Bearer t1", "Bearer t2"]


async def test_who_is_refused_twice_is_refused(api: FakeApi, tmp_path: Path) -> None:
    program(tmp_path)
    api.answers = [status(401, "Unauthorized") for _ in range(2)]
    async with Client(KubeConfig.load(kubeconfig(tmp_path, api.url))) as client:
        with pytest.raises(Unauthorized):
            await client.get(SERVICES, "a", namespace="b")


async def test_a_failing_program_is_like_a_server_that_is_away(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, command=sys.executable, args=["-c", "import sys; sys.exit('no ticket')"])
    async with Client(KubeConfig.load(path)) as client:
        with pytest.raises(Unavailable, match="no ticket"):
            await client.get(SERVICES, "a", namespace="b")


async def test_an_absent_program_is_named_with_the_hint_how_to_get_it() -> None:
    with pytest.raises(KubeConfigError, match=r"(?s)/absent/plugin: No such file.*brew install it"):
        await run(ExecPlugin(V1, "/absent/plugin", install_hint="brew install it"))


class Asked:
    def __init__(self, *credentials: Credential) -> None:
        self.left = list(credentials)
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    async def run(self, _plugin: ExecPlugin) -> Credential:
        return self.left.pop(0)

    def credentials(self) -> Credentials:
        config = KubeConfig("https://x", exec=ExecPlugin(V1, "plugin"))
        return Credentials(config, self.run, lambda: self.moment)


async def test_a_credential_is_kept_until_it_expires() -> None:
    asked = Asked()
    asked.left = [Credential("one", expires=asked.moment + timedelta(minutes=5)), Credential("two")]
    credentials = asked.credentials()
    for minutes, token in ((0, "one"), (4, "one"), (5, "two"), (500, "two")):
        asked.moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
        assert (await credentials.current()).token == token


async def test_a_refusal_of_an_older_credential_does_not_cost_the_new_one() -> None:
    credentials = Asked(Credential("one"), Credential("two"), Credential("three")).credentials()
    first = await credentials.current()
    assert credentials.refused(first)
    second = await credentials.current()
    credentials.refused(first)
    assert await credentials.current() is second


def answer(version: str = V1, **fields: Any) -> bytes:
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": fields}).encode()


def test_a_certificate_comes_with_its_key_and_its_end() -> None:
    given = answer(
        clientCertificateData="CERT", clientKeyData="KEY", expirationTimestamp="2026-01-01T00:00:00Z"
    )
    end = datetime(2026, 1, 1, tzinfo=UTC)
    assert credential_in(given, V1) == Credential(None, b"CERT", b"KEY", end)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (b"not json", "can't be read"),
        (answer(V1BETA1, token="t"), "expected .*/v1 ExecCredential"),
        (answer(), "neither a token nor a certificate"),
        (answer(clientCertificateData="CERT"), "come together"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said(given: bytes, complaint: str) -> None:
    with pytest.raises(KubeConfigError, match=complaint):
        credential_in(given, V1)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1"),
        ({"command": ""}, "no command"),
        ({"interactiveMode": "Always"}, "wants to ask a person"),
    ],
)
def test_plugins_that_can_not_be_run_are_refused_at_once(
    tmp_path: Path, settings: dict[str, str], complaint: str
) -> None:
    with pytest.raises(KubeConfigError, match=complaint):
        KubeConfig.load(kubeconfig(tmp_path, **settings))
