"""Service account tokens, reviews, and acting as someone else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairway.apiserver.service_account_tokens import BadToken, Identity, Reference, TokenAuthority
from fairway.httpserver import Peer

from .memory_server import Clock, Server

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
NOBODY = Peer("127.0.0.1")


async def make_account(server: Server, name: str = "robot") -> None:
    assert (await server.ask("POST", ACCOUNTS, {"metadata": {"name": name}})).status == 201


async def request_token(server: Server, **spec: Any) -> Any:
    return await server.ask("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})


async def whoami(server: Server, token: str) -> Any:
    return await server.ask("POST", WHOAMI, {}, {"authorization": f"Bearer {token}"}, NOBODY)


async def test_a_token_is_a_credential_of_its_account(server: Server) -> None:
    await make_account(server)
    token = (await request_token(server)).obj["status"]["token"]
    info = (await whoami(server, token)).obj["status"]["userInfo"]
    assert info["username"] == "system:serviceaccount:default:robot"
    assert info["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    ]


async def test_a_certificate_counts_before_a_token_that_is_none(server: Server) -> None:
    peer = Peer("127.0.0.1", "alice", ("builders",))
    answer = await server.ask("POST", WHOAMI, {}, {"authorization": "Bearer nonsense"}, peer)
    assert answer.obj["status"]["userInfo"]["username"] == "alice"


async def test_a_token_ends_with_its_time(server: Server) -> None:
    await make_account(server)
    answer = (await request_token(server, expirationSeconds=600)).obj
    assert answer["status"]["expirationTimestamp"] == "2026-01-01T00:10:00Z"
    token = answer["status"]["token"]
    server.clock.advance(599)
    assert (await whoami(server, token)).status == 201
    server.clock.advance(1)
    assert (await whoami(server, token)).status == 401


async def test_a_token_ends_with_its_account_even_if_another_of_that_name_follows(server: Server) -> None:
    await make_account(server)
    token = (await request_token(server)).obj["status"]["token"]
    await server.ask("DELETE", f"{ACCOUNTS}/robot")
    await make_account(server)
    assert (await whoami(server, token)).status == 401


async def test_a_token_bound_to_a_secret_ends_with_it(server: Server) -> None:
    await make_account(server)
    secrets = "/api/v1/namespaces/default/secrets"
    await server.ask("POST", secrets, {"metadata": {"name": "s"}})
    bound = {"kind": "Secret", "apiVersion": "v1", "name": "s"}
    token = (await request_token(server, boundObjectRef=bound)).obj["status"]["token"]
    assert (await whoami(server, token)).status == 201
    await server.ask("DELETE", f"{secrets}/s")
    assert (await whoami(server, token)).status == 401


async def test_a_token_for_others_is_none_for_us_but_can_be_reviewed_for_them(server: Server) -> None:
    await make_account(server)
    token = (await request_token(server, audiences=["vault"])).obj["status"]["token"]
    assert (await whoami(server, token)).status == 401
    review = "/apis/authentication.k8s.io/v1/tokenreviews"
    for audiences, authenticated in ((["vault"], True), (["other"], None), ([], None)):
        answer = await server.ask("POST", review, {"spec": {"token": token, "audiences": audiences}})
        assert answer.obj["status"].get("authenticated") is authenticated


@pytest.mark.parametrize(
    ("spec", "status", "text"),
    [
        ({"expirationSeconds": 5}, 422, "may not specify a duration less than 10 minutes"),
        (
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}},
            404,
            'pods "none" not found',
        ),
        (
            {"boundObjectRef": {"kind": "Job", "apiVersion": "batch/v1", "name": "j"}},
            400,
            "cannot bind token to object of type batch/v1, Kind=Job",
        ),
    ],
)
async def test_tokens_that_can_not_be_had(server: Server, spec: Any, status: int, text: str) -> None:
    await make_account(server)
    answer = await request_token(server, **spec)
    assert answer.status == status
    assert text in answer.obj["message"]


def test_tokens_survive_a_restart_and_are_not_believed_by_another_cluster(
    tmp_path: Path, clock: Clock
) -> None:
    identity = Identity("default", Reference("robot", "u"))
    token = TokenAuthority.open(tmp_path / "sa.key", clock).issue(identity, 600, ["a"])
    restarted = TokenAuthority.open(tmp_path / "sa.key", clock)
    assert restarted.read(token, ("a",)).identity == identity
    assert (tmp_path / "sa.key").stat().st_mode & 0o077 == 0
    with pytest.raises(BadToken):
        TokenAuthority.open(tmp_path / "other.key", clock).read(token, ("a",))
    head, _, signature = token.rpartition(".")
    for forged in (f"{head}x.{signature}", f"{head}.{signature[:-4]}AAAA", "a.b.c", ""):
        with pytest.raises(BadToken):
            restarted.read(forged, ("a",))


async def test_whoever_is_known_may_act_as_someone_else(server: Server) -> None:
    headers = {
        "impersonate-user": "jane",
        "impersonate-group": "devs, ops",
        "impersonate-extra-scopes": "view",
    }
    info = (await server.ask("POST", WHOAMI, {}, headers)).obj["status"]["userInfo"]
    assert info == {
        "username": "jane",
        "groups": ["devs", "ops", "system:authenticated"],
        "extra": {"scopes": ["view"]},
    }
    for name in ("group", "uid", "extra-scopes"):
        assert (await server.ask("POST", WHOAMI, {}, {f"impersonate-{name}": "devs"})).status == 400


async def test_questions_about_permissions_are_answered(server: Server) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    wanted = {"resourceAttributes": {"verb": "create", "resource": "pods"}}
    assert (await server.ask("POST", path, {"spec": wanted})).obj["status"]["allowed"] is True
    both = {**wanted, "nonResourceAttributes": {"path": "/", "verb": "get"}}
    for spec in ({}, both):
        assert (await server.ask("POST", path, {"spec": spec})).status == 422
    subject = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert (await server.ask("POST", subject, {"spec": wanted})).status == 422
    assert (await server.ask("POST", subject, {"spec": {**wanted, "user": "jane"}})).status == 201
