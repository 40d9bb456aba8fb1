"""The `kubernetes` plugin: what it passes on, and what it looks up elsewhere."""

from __future__ import annotations

import pytest

from fairway.dns import names, wire
from fairway.dns.plugins.kubernetes import Kubernetes
from fairway.dns.wire import Reply
from tests.unit.dns.plugins.bench import Behind, Bench, NoCluster, answer, denial, question, texts
from tests.unit.dns.zone.objects import external, key_of, service

LINES = "kubernetes cluster.local in-addr.arpa {\n pods insecure\n fallthrough in-addr.arpa\n ttl 30\n}"


async def started(lines: str = LINES) -> Kubernetes:
    plugin = Bench(lines).plugin("kubernetes")
    assert isinstance(plugin, Kubernetes)
    await plugin.start()
    for obj in (service(), external("db", "db.example.com")):
        plugin.zone.service_changed(key_of(obj), obj)
    plugin.zone.flush()
    return plugin


async def test_names_outside_the_zones_are_passed_on() -> None:
    behind = Behind(answer())
    await (await started()).serve(question("example.com"), behind.handler)
    assert behind.names == ["example.com."]


async def test_only_zones_that_fall_through_are_passed_on_when_a_name_is_missing() -> None:
    plugin, behind = await started(), Behind(denial())
    denied = await plugin.serve(question("nope.prod.svc.cluster.local"), behind.handler)
    assert denied is not None
    assert denied.flags == wire.AA
    await plugin.serve(question("8.8.8.8.in-addr.arpa", "PTR"), behind.handler)
    assert behind.names == ["8.8.8.8.in-addr.arpa."]


async def test_others_may_have_data_at_names_above_ours_but_cannot_deny_them() -> None:
    plugin = await started()
    upstream = answer("10.in-addr.arpa. 60 IN NS ns.corp.test.")
    assert await plugin.serve(question("10.in-addr.arpa", "NS"), Behind(upstream).handler) is upstream
    reply = await plugin.serve(question("10.in-addr.arpa", "NS"), Behind(denial()).handler)
    assert reply is not None
    assert reply.rcode == wire.NOERROR


@pytest.mark.parametrize("rdtype", ["AXFR", "IXFR"])
async def test_transfers_are_refused(rdtype: str) -> None:
    reply = await (await started()).serve(question("cluster.local", rdtype), Behind().handler)
    assert reply == Reply(wire.REFUSED)


async def test_other_classes_have_no_data() -> None:
    plugin = await started()
    for rdclass, rcode in ((wire.CH, wire.REFUSED), (wire.CLASS_ANY, wire.NOERROR)):
        reply = await plugin.serve(question("web.prod.svc.cluster.local", rdclass=rdclass), Behind().handler)
        assert reply is not None
        assert reply.rcode == rcode


@pytest.mark.parametrize(
    ("found", "rcode", "types"),
    [
        (answer("db.example.com. 60 IN A 192.0.2.1"), wire.NOERROR, [wire.CNAME, wire.A]),
        (denial(), wire.NXDOMAIN, [wire.CNAME]),
        (denial(rcode=wire.NOERROR), wire.NOERROR, [wire.CNAME]),
        (answer(rcode=wire.REFUSED), wire.SERVFAIL, [wire.CNAME]),
        (Reply(wire.SERVFAIL), wire.NOERROR, [wire.CNAME]),
        (Reply(wire.REFUSED), wire.NOERROR, [wire.CNAME]),
    ],
    ids=["found", "denied", "no data", "refused there", "nobody answers", "nobody serves it"],
)
async def test_external_names_are_looked_up_for_the_client(
    found: Reply, rcode: int, types: list[int]
) -> None:
    def lookup(name: bytes, rdtype: int) -> Reply:
        assert (name, rdtype) == (names.from_text("db.example.com."), wire.A)
        return found

    reply = await (await started()).serve(
        question("db.prod.svc.cluster.local", lookup=lookup), Behind().handler
    )
    assert reply is not None
    assert (reply.rcode, [kind for _, kind, _ in texts(reply)]) == (rcode, types)
    assert reply.flags & wire.AA


async def test_nothing_is_denied_before_everything_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = await started()
    monkeypatch.setattr(NoCluster, "fills", lambda self, zone: False)
    for name in ("web.prod.svc.cluster.local", "nope.prod.svc.cluster.local"):
        assert await plugin.serve(question(name), Behind().handler) == Reply(wire.SERVFAIL)
    assert not plugin.ready()
