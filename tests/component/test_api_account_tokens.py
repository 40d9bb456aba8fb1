"""Tokens of service accounts: good as they were issued, and in no other way."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.component.probe import Probe, probing
from tests.conformance.server import ApiServer, api_server

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("accounts")) as started:
        yield started


@pytest.fixture
def probe(server: ApiServer) -> Iterator[Probe]:
    with probing(server) as ready:
        ready.send("POST", ACCOUNTS, b'{"metadata":{"name":"robot"}}')
        yield ready


def issue(probe: Probe, account: str = "robot", **spec: Any) -> str:
    body = json.dumps(
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    ).encode()
    reply = probe.send("POST", f"{ACCOUNTS}/{account}/token", body)
    assert reply.status == 201, reply.message
    return str(reply.json()["status"]["token"])


def status(probe: Probe, token: str) -> int:
    return probe.send("GET", "/api/v1/secrets", headers={"Authorization": f"Bearer {token}"}).status


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    head, claims, signature = token.split(".")
    return decoded(head), decoded(claims), signature


def decoded(text: str) -> dict[str, Any]:
    found = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    assert isinstance(found, dict)
    return found


def encoded(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_a_token_says_who_its_bearer_is(probe: Probe) -> None:
    body = b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
    reply = probe.send("POST", WHO, body, headers={"Authorization": f"Bearer {issue(probe)}"})
    user = reply.json()["status"]["userInfo"]
    assert user["username"] == "system:serviceaccount:default:robot"
    assert user["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    ]


def forgeries(token: str) -> dict[str, str]:
    head, claims, signature = parts(token)
    other = {**claims, "sub": "system:serviceaccount:kube-system:root"}
    later = {**claims, "exp": int(time.time()) + 10**9}
    none = encoded({**head, "alg": "none"})
    return {
        "another subject": f"{encoded(head)}.{encoded(other)}.{signature}",
        "a longer life": f"{encoded(head)}.{encoded(later)}.{signature}",
        "no signature": f"{encoded(head)}.{encoded(claims)}.",
        "no algorithm": f"{none}.{encoded(claims)}.",
        "no algorithm but the signature": f"{none}.{encoded(claims)}.{signature}",
        "a symmetric algorithm": f"{encoded({**head, 'alg': 'HS256'})}.{encoded(claims)}.{signature}",
        "another key": f"{encoded({**head, 'kid': 'x'})}.{encoded(claims)}.{signature}",
        "a cut signature": token[:-4],
        "a changed signature": token[:-8] + ("AAAAAAAA" if not token.endswith("AAAAAAAA") else "BBBBBBBB"),
        "claims that are no object": f"{encoded(head)}.W10.{signature}",
        "claims that are no JSON": f"{encoded(head)}.e30x.{signature}",
        "too many parts": f"{token}.{signature}",
        "only dots": "..",
        "nonsense in base64": "a.b.c",
    }


@pytest.mark.parametrize("forgery", forgeries("e30.e30.AAAA"))
def test_a_forged_token_is_401(probe: Probe, forgery: str) -> None:
    token = issue(probe)
    assert status(probe, token) == 200
    assert status(probe, forgeries(token)[forgery]) == 401


def test_a_token_for_another_audience_is_401(probe: Probe) -> None:
    assert status(probe, issue(probe, audiences=["vault"])) == 401


def test_a_token_dies_with_its_account_even_if_one_of_the_same_name_follows(probe: Probe) -> None:
    probe.send("POST", ACCOUNTS, b'{"metadata":{"name":"mortal"}}')
    token = issue(probe, "mortal")
    assert status(probe, token) == 200
    probe.send("DELETE", f"{ACCOUNTS}/mortal")
    assert status(probe, token) == 401
    probe.send("POST", ACCOUNTS, b'{"metadata":{"name":"mortal"}}')
    assert status(probe, token) == 401


def test_a_token_survives_a_restart(server: ApiServer, probe: Probe) -> None:
    token = issue(probe)
    probe.close()
    server.kill()
    server.start()
    assert status(probe, token) == 200


@pytest.mark.parametrize("seconds", [1, 599, 2**33, -5, "600", 600.5])
def test_a_life_shorter_than_ten_minutes_or_absurdly_long_is_refused(probe: Probe, seconds: Any) -> None:
    body = json.dumps({"spec": {"expirationSeconds": seconds}}).encode()
    assert 400 <= probe.send("POST", f"{ACCOUNTS}/robot/token", body).status < 500
