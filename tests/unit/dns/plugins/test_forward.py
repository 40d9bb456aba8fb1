"""The `forward` plugin: which servers are asked, in which order, and what becomes of their answers."""

from __future__ import annotations

from collections import Counter

import pytest

from fairway.dns import wire
from fairway.dns.plugins.forward import Forward, Pool
from fairway.dns.plugins.forward.upstream import Upstream, UpstreamError
from fairway.dns.wire import Query, Reply
from tests.unit.dns.plugins.bench import Behind, Bench, answer, question

Script = dict[tuple[str, str], Reply | None]


def forward(lines: str) -> Forward:
    plugin = Bench(lines).plugin("forward")
    assert isinstance(plugin, Forward)
    return plugin


def scripted(plugin: Forward, monkeypatch: pytest.MonkeyPatch, script: Script) -> list[tuple[str, str]]:
    """Makes servers answer by a table of (host, protocol); None is silence. Returns who was asked."""
    asked: list[tuple[str, str]] = []

    def over(protocol: str) -> object:
        async def ask(self: Upstream, query: Query) -> Reply:
            asked.append((self.host, protocol))
            reply = script.get((self.host, protocol))
            if reply is None:
                raise UpstreamError("silence")
            return reply

        return ask

    monkeypatch.setattr(Upstream, "over_udp", over("udp"))
    monkeypatch.setattr(Upstream, "over_tcp", over("tcp"))
    return asked


GOOD = answer("a.test. 5 IN A 10.0.0.1")
CUT = Reply(flags=wire.TC, foreign=True)


def test_servers_come_from_addresses_and_resolv_conf() -> None:
    content = "# mine\nsearch a\nnameserver 10.0.0.1\nnameserver fe80::1%eth0\nnameserver junk\n"
    plugin = Bench("forward . 10.0.0.9:5300 /r [fd00::1]:54", files={"/r": content}).plugin("forward")
    assert isinstance(plugin, Forward)
    assert plugin.pools[0].options.to == (
        ("10.0.0.9", 5300),
        ("10.0.0.1", 53),
        ("fe80::1", 53),
        ("fd00::1", 54),
    )


async def test_the_next_server_is_asked_when_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = forward("forward . 127.0.0.1 127.0.0.2 {\n policy sequential\n}")
    asked = scripted(plugin, monkeypatch, {("127.0.0.2", "udp"): GOOD})
    assert await plugin.serve(question("a.test"), Behind().handler) == GOOD
    assert asked == [("127.0.0.1", "udp"), ("127.0.0.2", "udp")]


async def test_when_all_fail_the_answer_is_servfail(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = forward("forward . 127.0.0.1 127.0.0.2 {\n max_fails 0\n}")
    asked = scripted(plugin, monkeypatch, {})
    assert await plugin.serve(question("a.test"), Behind().handler) == Reply(wire.SERVFAIL)
    assert len(asked) == 4


async def test_a_server_that_failed_often_is_asked_last(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = forward("forward . 127.0.0.1 127.0.0.2 {\n policy sequential\n health_check 1h\n}")
    asked = scripted(plugin, monkeypatch, {("127.0.0.2", "udp"): GOOD})
    for _ in range(3):
        await plugin.serve(question("a.test"), Behind().handler)
    assert asked[-1:] == [("127.0.0.2", "udp")]
    assert Counter(host for host, _ in asked)["127.0.0.1"] == 2
    await plugin.stop()


@pytest.mark.parametrize(
    ("option", "tcp", "asked"),
    [
        ("expire 1s", False, ["udp"]),
        ("expire 1s", True, ["tcp"]),
        ("force_tcp", False, ["tcp"]),
        ("prefer_udp", False, ["udp", "tcp"]),
        ("prefer_udp", True, ["udp", "tcp"]),
    ],
)
async def test_cut_answers_are_fetched_over_tcp_where_that_helps(
    monkeypatch: pytest.MonkeyPatch, option: str, tcp: bool, asked: list[str]
) -> None:
    plugin = forward(f"forward . 127.0.0.1 {{\n {option}\n}}")
    seen = scripted(plugin, monkeypatch, {("127.0.0.1", "udp"): CUT, ("127.0.0.1", "tcp"): GOOD})
    await plugin.serve(question("a.test", tcp=tcp), Behind().handler)
    assert [protocol for _, protocol in seen] == asked


async def test_zones_and_exceptions_decide_who_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = forward("forward corp.test 127.0.0.1 {\n except secret.corp.test\n}\nforward . 127.0.0.2")
    asked = scripted(plugin, monkeypatch, {("127.0.0.1", "udp"): GOOD, ("127.0.0.2", "udp"): GOOD})
    for name in ("a.corp.test", "x.secret.corp.test", "other.test"):
        await plugin.serve(question(name), Behind().handler)
    assert [host for host, _ in asked] == ["127.0.0.1", "127.0.0.2", "127.0.0.2"]


async def test_names_nobody_takes_are_passed_on() -> None:
    behind = Behind(answer())
    await forward("forward corp.test 127.0.0.1").serve(question("a.test"), behind.handler)
    assert behind.names == ["a.test."]


async def test_more_questions_than_allowed_at_once_are_refused() -> None:
    plugin = forward("forward . 127.0.0.1 {\n max_concurrent 1\n}")
    plugin.pools[0]._running = 1
    assert await plugin.serve(question("a.test"), Behind().handler) == Reply(wire.REFUSED)


async def test_each_attempt_has_an_id_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = forward("forward . 127.0.0.1 {\n max_fails 0\n}")
    ids: set[int] = set()

    async def ask(self: Upstream, query: Query) -> Reply:
        ids.add(query.id)
        raise UpstreamError("silence")

    monkeypatch.setattr(Upstream, "over_udp", ask)
    for _ in range(20):
        await plugin.serve(question("a.test"), Behind().handler)
    assert len(ids) > 35


def test_policies_spread_questions() -> None:
    plugin = forward("forward . 127.0.0.1 127.0.0.2 127.0.0.3 {\n policy round_robin\n}")
    pool: Pool = plugin.pools[0]
    assert [pool._ordered()[0].host[-1] for _ in range(6)] == ["2", "3", "1", "2", "3", "1"]
