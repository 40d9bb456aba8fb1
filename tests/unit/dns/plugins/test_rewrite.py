"""The `rewrite` plugin: questions in, answers back."""

from __future__ import annotations

import pytest

from fairway.dns import names, wire
from fairway.dns.rdata import record
from fairway.dns.wire import Reply
from tests.unit.dns.plugins.bench import Behind, Bench, answer, question, texts


async def rewritten(
    lines: str, name: str, rdtype: str = "A", reply: Reply | None = None
) -> tuple[Behind, Reply | None]:
    plugin = Bench(lines).plugin("rewrite")
    behind = Behind(reply or answer())
    return behind, await plugin.serve(question(name, rdtype), behind.handler)


@pytest.mark.parametrize(
    ("rule", "name", "asked"),
    [
        ("name a.test b.test", "a.test", "b.test."),
        ("name exact a.test b.test", "A.Test", "b.test."),
        ("name exact a.test b.test", "x.a.test", "x.a.test."),
        ("name suffix .corp.test .prod.svc.cluster.local", "web.corp.test", "web.prod.svc.cluster.local."),
        ("name suffix .corp.test .prod.svc.cluster.local", "corp.test", "corp.test."),
        ("name prefix old. new.", "old.a.test", "new.a.test."),
        ("name substring .staging. .prod.", "web.staging.svc", "web.prod.svc."),
        (r"name regex (.*)-in-(.*)\.test {1}.{2}.svc.cluster.local", "a-in-b.test", "a.b.svc.cluster.local."),
        ("name regex (.*) {9}..", "a.test", "a.test."),
    ],
)
async def test_names_are_changed_on_the_way_in(rule: str, name: str, asked: str) -> None:
    behind, _ = await rewritten(f"rewrite {rule}", name)
    assert behind.names == [asked]


async def test_exact_names_are_changed_back_in_owners_and_targets() -> None:
    target = Reply(0, (record("b.test. 5 IN SRV 0 1 80 b.test."),), (), (record("b.test. 5 IN A 1.2.3.4"),))
    _, reply = await rewritten("rewrite name a.test b.test", "a.test", "SRV", target)
    assert reply is not None
    assert texts(reply) == [("a.test.", wire.SRV, 5)]
    assert reply.answer[0].data.endswith(names.from_text("a.test."))
    assert reply.additional[0].name == names.from_text("a.test.")


async def test_suffixes_are_changed_back_only_where_wanted() -> None:
    found = answer("web.prod.test. 5 IN A 1.2.3.4")
    _, plain = await rewritten("rewrite name suffix .corp.test .prod.test", "web.corp.test", reply=found)
    _, auto = await rewritten(
        "rewrite name suffix .corp.test .prod.test answer auto", "web.corp.test", reply=found
    )
    assert (texts(plain)[0][0], texts(auto)[0][0]) == ("web.prod.test.", "web.corp.test.")


async def test_answer_rules_change_names_and_values_apart() -> None:
    lines = (
        "rewrite stop {\n name regex (.*)\\.srv\\.test {1}.real.test\n"
        " answer name (.*)\\.real\\.test {1}.srv.test\n answer value (.*)\\.real\\.test {1}.out.test\n}"
    )
    found = answer("a.real.test. 5 IN CNAME b.real.test.")
    _, reply = await rewritten(lines, "a.srv.test", reply=found)
    assert reply is not None
    assert texts(reply)[0][0] == "a.srv.test."
    assert reply.answer[0].data == names.from_text("b.out.test.")


async def test_the_first_rule_that_applies_is_the_last_unless_it_continues() -> None:
    lines = "rewrite {} name a.test b.test\nrewrite name b.test c.test"
    stopped, _ = await rewritten(lines.format("stop"), "a.test")
    found = answer("c.test. 5 IN A 1.2.3.4")
    went_on, reply = await rewritten(lines.format("continue"), "a.test", reply=found)
    assert (stopped.names, went_on.names, texts(reply)[0][0]) == (["b.test."], ["c.test."], "a.test.")


async def test_types_and_classes_are_changed() -> None:
    behind, _ = await rewritten("rewrite continue type HINFO A\nrewrite class CH IN", "a.test", "HINFO")
    assert behind.asked[0].query.type == wire.A


@pytest.mark.parametrize(("bounds", "ttl"), [("7", 7), ("100-200", 100), ("-30", 30), ("10-", 60)])
async def test_ttls_are_kept_within_bounds(bounds: str, ttl: int) -> None:
    found = answer("a.test. 60 IN A 1.2.3.4")
    _, reply = await rewritten(f"rewrite ttl a.test {bounds}", "a.test", reply=found)
    assert texts(reply)[0][2] == ttl


async def test_rcodes_are_changed() -> None:
    _, reply = await rewritten(
        "rewrite rcode suffix .test. REFUSED NOERROR", "a.test", reply=Reply(wire.REFUSED)
    )
    assert reply is not None
    assert reply.rcode == wire.NOERROR
