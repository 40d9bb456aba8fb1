"""The plugins that are a page long."""

from __future__ import annotations

from collections import Counter

import pytest

from fairway.dns import names, wire
from fairway.dns.plugins.reload import Reload
from fairway.dns.rdata import record
from fairway.dns.wire import Edns, Reply
from tests.unit.dns.plugins.bench import Behind, Bench, answer, denial, question, texts


@pytest.mark.parametrize(
    ("name", "rdtype", "client", "outcome"),
    [
        ("a.test", "A", "10.0.0.1", "asked"),
        ("a.test", "A", "192.0.2.1", wire.REFUSED),
        ("a.test", "TXT", "10.0.0.1", wire.NOERROR),
        ("a.test", "MX", "10.0.0.1", -1),
        ("elsewhere.org", "MX", "192.0.2.1", "asked"),
    ],
)
async def test_acl_lets_the_first_fitting_rule_decide(
    name: str, rdtype: str, client: str, outcome: object
) -> None:
    plugin = Bench("acl test {\n filter type TXT\n drop type MX\n allow net 10.0.0.0/8\n block\n}").plugin(
        "acl"
    )
    behind = Behind(answer())
    reply = await plugin.serve(question(name, rdtype, client=client), behind.handler)
    assert reply is not None
    assert ("asked" if behind.asked else reply.rcode) == outcome


async def test_any_gives_a_short_answer_to_any() -> None:
    plugin = Bench("any").plugin("any")
    behind = Behind(answer())
    assert texts(await plugin.serve(question("a.test", "ANY"), behind.handler)) == [
        ("a.test.", wire.HINFO, 8482)
    ]
    await plugin.serve(question("a.test", "A"), behind.handler)
    assert behind.names == ["a.test."]


async def test_bufsize_makes_clients_take_less() -> None:
    plugin = Bench("bufsize 1232").plugin("bufsize")
    behind = Behind(answer())
    reply = await plugin.serve(question("a.test", edns=Edns(4096, True)), behind.handler)
    assert reply is not None
    assert reply.edns == Edns(1232, True)
    assert behind.asked[0].query.edns == Edns(1232, True)


async def test_chaos_tells_of_the_server_in_class_ch_only() -> None:
    plugin = Bench("chaos v1 me you").plugin("chaos")
    behind = Behind(answer())
    reply = await plugin.serve(question("version.bind", "TXT", rdclass=wire.CH), behind.handler)
    assert reply is not None
    assert [r.data for r in reply.answer] == [b"\x02v1"]
    authors = await plugin.serve(question("authors.bind", "TXT", rdclass=wire.CH), behind.handler)
    assert authors is not None
    assert len(authors.answer) == 2
    await plugin.serve(question("version.bind", "TXT"), behind.handler)
    assert len(behind.asked) == 1


async def test_minimal_leaves_only_the_answer_but_keeps_denials_whole() -> None:
    plugin = Bench("minimal").plugin("minimal")
    extra = (record("b.test. 5 IN A 1.2.3.4"),)
    whole = Reply(0, extra, extra, extra)
    assert await plugin.serve(question("a.test"), Behind(whole).handler) == Reply(0, extra)
    assert await plugin.serve(question("a.test"), Behind(denial()).handler) == denial()


async def test_loadbalance_shuffles_addresses_and_keeps_cnames_first() -> None:
    plugin = Bench("loadbalance").plugin("loadbalance")
    found = answer("a.test. 5 IN CNAME b.test.", *(f"b.test. 5 IN A 10.0.0.{i}" for i in range(4)))
    firsts: Counter[bytes] = Counter()
    for _ in range(200):
        reply = await plugin.serve(question("a.test"), Behind(found).handler)
        assert reply is not None
        assert reply.answer[0].type == wire.CNAME
        firsts[reply.answer[1].data] += 1
    assert len(firsts) == 4


HOSTS = "hosts /dev/null {{\n 192.0.2.1 a.test A-alias.test\n 2001:db8::1 a.test\n ttl 60\n {rest}\n}}"


async def test_hosts_answers_names_and_addresses_both_ways() -> None:
    plugin = Bench(HOSTS.format(rest="fallthrough")).plugin("hosts")
    behind = Behind(answer())
    assert texts(await plugin.serve(question("A.test"), behind.handler)) == [("a.test.", wire.A, 60)]
    assert texts(await plugin.serve(question("a-alias.test", "AAAA"), behind.handler)) == []
    reverse = await plugin.serve(question("1.2.0.192.in-addr.arpa", "PTR"), behind.handler)
    assert len(texts(reverse)) == 2
    assert not behind.asked
    await plugin.serve(question("b.test"), behind.handler)
    assert behind.names == ["b.test."]


async def test_hosts_without_fallthrough_has_the_last_word_on_its_zones() -> None:
    plugin = Bench(HOSTS.format(rest="no_reverse").replace("/dev/null", "/dev/null test")).plugin("hosts")
    behind = Behind(answer())
    reply = await plugin.serve(question("b.test"), behind.handler)
    assert reply == Reply(wire.SERVFAIL)
    await plugin.serve(question("1.2.0.192.in-addr.arpa", "PTR"), behind.handler)
    await plugin.serve(question("elsewhere.org"), behind.handler)
    assert len(behind.asked) == 2


TEMPLATE = """template IN A ip.test {
    match ^ip-(?P<a>[0-9]+)-(?P<b>[0-9]+)[.]
    answer "{{ .Name }} 60 IN A 10.0.{{ .Group.a }}.{{ index .Match 2 }}"
    fallthrough
}
template IN ANY gone.test {
    rcode NXDOMAIN
    authority "gone.test. 60 IN SOA ns.{{ .Zone }} admin.gone.test. (1 2 3 4 5)"
}
template IN A alias.test {
    answer "{{ .Name }} 60 IN CNAME real.test."
}"""


async def test_template_makes_up_records_from_the_name() -> None:
    plugin = Bench(TEMPLATE).plugin("template")
    behind = Behind(answer())
    reply = await plugin.serve(question("ip-3-4.ip.test"), behind.handler)
    assert reply is not None
    assert reply.answer == (record("ip-3-4.ip.test. 60 IN A 10.0.3.4"),)
    gone = await plugin.serve(question("x.gone.test", "MX"), behind.handler)
    assert gone is not None
    assert (gone.rcode, len(gone.authority)) == (wire.NXDOMAIN, 1)
    assert await plugin.serve(question("ip-300-4.ip.test"), behind.handler) == Reply(wire.SERVFAIL)
    await plugin.serve(question("other.ip.test"), behind.handler)
    await plugin.serve(question("ip-3-4.ip.test", "AAAA"), behind.handler)
    assert len(behind.asked) == 2


async def test_template_follows_the_cnames_it_makes_up() -> None:
    plugin = Bench(TEMPLATE).plugin("template")

    def lookup(name: bytes, rdtype: int) -> Reply:
        assert (name, rdtype) == (names.from_text("real.test."), wire.A)
        return answer("real.test. 5 IN A 10.0.0.1")

    reply = await plugin.serve(question("alias.test", lookup=lookup), Behind().handler)
    assert [kind for _, kind, _ in texts(reply)] == [wire.CNAME, wire.A]


SEARCH = {"/etc/hosts.search": "search prod.svc.cluster.local svc.cluster.local cluster.local\n"}


async def test_autopath_walks_the_search_list_for_the_client() -> None:
    plugin = Bench("autopath /etc/hosts.search", files=SEARCH).plugin("autopath")
    behind = Behind(
        lambda request: (
            answer("web.dev.svc.cluster.local. 7 IN A 1.2.3.4") if len(behind.asked) == 2 else denial()
        )
    )
    reply = await plugin.serve(question("web.dev.prod.svc.cluster.local"), behind.handler)
    assert behind.names == ["web.dev.prod.svc.cluster.local.", "web.dev.svc.cluster.local."]
    assert texts(reply) == [
        ("web.dev.prod.svc.cluster.local.", wire.CNAME, 7),
        ("web.dev.svc.cluster.local.", wire.A, 7),
    ]


async def test_autopath_asks_for_the_bare_name_last_and_denies_as_the_first() -> None:
    plugin = Bench("autopath /etc/hosts.search", files=SEARCH).plugin("autopath")
    first = denial("cluster.local. 5 IN SOA a. b. 1 2 3 4 5")
    behind = Behind(lambda request: first if len(behind.asked) == 1 else denial())
    assert await plugin.serve(question("nx.prod.svc.cluster.local"), behind.handler) is first
    assert behind.names[-1] == "nx."


@pytest.mark.parametrize("name", ["example.org", "web.dev.svc.cluster.local", "prod.svc.cluster.local"])
async def test_autopath_leaves_other_questions_alone(name: str) -> None:
    plugin = Bench("autopath /etc/hosts.search", files=SEARCH).plugin("autopath")
    behind = Behind(denial())
    await plugin.serve(question(name), behind.handler)
    assert len(behind.asked) == 1


async def test_loop_ends_the_server_when_its_own_question_comes_back() -> None:
    plugin = Bench("loop").plugin("loop")
    behind = Behind(answer())
    name = names.to_text(plugin._name)  # type: ignore[attr-defined]
    await plugin.serve(question("other.test", "HINFO"), behind.handler)
    reply = await plugin.serve(question(name, "HINFO"), behind.handler)
    assert reply == Reply(wire.SERVFAIL)
    assert behind.names == ["other.test."]


async def test_reload_looks_until_something_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench("reload 2s")
    plugin = bench.plugin("reload")
    assert isinstance(plugin, Reload)
    looks: list[float] = []

    async def no_sleep(seconds: float) -> None:
        looks.append(seconds)

    monkeypatch.setattr("fairway.dns.plugins.reload.asyncio.sleep", no_sleep)
    outcomes = iter((False, False, True))

    async def reload() -> bool:
        return next(outcomes)

    object.__setattr__(plugin.setup.around, "reload", reload)
    await plugin._watch()
    assert len(looks) == 3
    assert all(1 <= seconds <= 3 for seconds in looks)
