"""The `cache` plugin; time is set by hand."""

from __future__ import annotations

import asyncio

from fairway.dns import wire
from fairway.dns.plugins.cache import Cache
from tests.unit.dns.plugins.bench import Behind, Bench, answer, denial, question, texts

HOST = "host.up.test. 120 IN A 198.51.100.1"


def cache(lines: str = "cache 30") -> tuple[Bench, Cache]:
    bench = Bench(lines)
    plugin = bench.plugin("cache")
    assert isinstance(plugin, Cache)
    return bench, plugin


async def test_answers_are_asked_for_once_until_they_run_out() -> None:
    bench, plugin = cache()
    behind = Behind(answer(HOST))
    first = await plugin.serve(question("host.up.test"), behind.handler)
    bench.time += 10
    second = await plugin.serve(question("HOST.up.test"), behind.handler)
    assert (texts(first)[0][2], texts(second)[0][2], len(behind.asked)) == (30, 20, 1)
    assert texts(second)[0][0] == "HOST.up.test."
    bench.time += 21
    await plugin.serve(question("host.up.test"), behind.handler)
    assert len(behind.asked) == 2
    assert (bench.metrics.cache_hits.total(), bench.metrics.cache_misses.total()) == (1, 2)


async def test_our_own_answers_are_never_kept_but_their_ttl_is_capped() -> None:
    _, plugin = cache()
    behind = Behind(answer("web.prod.svc.cluster.local. 28800 IN A 10.96.0.1", foreign=False))
    for _ in range(3):
        reply = await plugin.serve(question("web.prod.svc.cluster.local"), behind.handler)
        assert texts(reply)[0][2] == 30
    assert len(behind.asked) == 3


async def test_denials_are_kept_as_long_as_the_soa_says() -> None:
    bench, plugin = cache("cache 3600")
    behind = Behind(denial())
    await plugin.serve(question("nx.up.test"), behind.handler)
    bench.time += 59
    assert (await plugin.serve(question("nx.up.test"), behind.handler)) is not None
    bench.time += 2
    await plugin.serve(question("nx.up.test"), behind.handler)
    assert len(behind.asked) == 2


async def test_failures_are_kept_briefly_and_refusals_or_cut_answers_never() -> None:
    bench, plugin = cache()
    failing = Behind(answer(rcode=wire.SERVFAIL))
    await plugin.serve(question("a.test"), failing.handler)
    await plugin.serve(question("a.test"), failing.handler)
    bench.time += 6
    await plugin.serve(question("a.test"), failing.handler)
    assert len(failing.asked) == 2
    for reply in (answer(rcode=wire.REFUSED), answer(HOST, flags=wire.TC), answer()):
        behind = Behind(reply)
        for _ in range(2):
            await plugin.serve(question("host.up.test"), behind.handler)
        assert len(behind.asked) == 2


async def test_do_and_cd_questions_have_answers_of_their_own() -> None:
    _, plugin = cache()
    behind = Behind(answer(HOST))
    await plugin.serve(question("host.up.test"), behind.handler)
    await plugin.serve(question("host.up.test", flags=wire.RD | wire.CD), behind.handler)
    await plugin.serve(question("host.up.test", edns=wire.Edns(do=True)), behind.handler)
    assert len(behind.asked) == 3


async def test_the_longest_unused_answers_go_first() -> None:
    _, plugin = cache("cache {\n success 2\n}")
    behind = Behind(answer(HOST))
    for name in ("a", "b", "a", "c", "a", "b"):
        await plugin.serve(question(name), behind.handler)
    assert behind.names == ["a.", "b.", "c.", "b."]


async def test_zones_and_kinds_can_be_left_out() -> None:
    _, plugin = cache("cache 30 up.test {\n disable denial up.test\n}")
    other, denied = Behind(answer(HOST)), Behind(denial())
    for _ in range(2):
        await plugin.serve(question("elsewhere.test"), other.handler)
        await plugin.serve(question("nx.up.test"), denied.handler)
    assert (len(other.asked), len(denied.asked)) == (2, 2)


async def test_stale_answers_are_served_while_a_new_one_is_fetched() -> None:
    bench, plugin = cache("cache 30 {\n serve_stale 1h\n}")
    behind = Behind(answer(HOST))
    await plugin.serve(question("host.up.test"), behind.handler)
    bench.time += 100
    stale = await plugin.serve(question("host.up.test"), behind.handler)
    assert texts(stale)[0][2] == 0
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    fresh = await plugin.serve(question("host.up.test"), behind.handler)
    assert texts(fresh)[0][2] == 30
    assert len(behind.asked) == 2


async def test_verified_stale_answers_are_served_only_if_nothing_better_comes() -> None:
    bench, plugin = cache("cache 30 {\n serve_stale 1h verify\n}")
    await plugin.serve(question("host.up.test"), Behind(answer(HOST)).handler)
    bench.time += 100
    stale = await plugin.serve(question("host.up.test"), Behind(answer(rcode=wire.SERVFAIL)).handler)
    assert texts(stale)[0][2] == 0
    fresh = await plugin.serve(
        question("host.up.test"), Behind(answer("host.up.test. 9 IN A 1.2.3.4")).handler
    )
    assert texts(fresh)[0][2] == 9


async def test_popular_answers_are_fetched_before_they_run_out() -> None:
    bench, plugin = cache("cache 100 {\n prefetch 2 1m 20%\n}")
    behind = Behind(answer("host.up.test. 100 IN A 1.2.3.4"))
    for _ in range(3):
        await plugin.serve(question("host.up.test"), behind.handler)
    assert len(behind.asked) == 1
    bench.time += 85
    await plugin.serve(question("host.up.test"), behind.handler)
    await asyncio.sleep(0)
    assert len(behind.asked) == 2


async def test_authenticated_is_told_only_to_those_who_ask() -> None:
    _, plugin = cache()
    behind = Behind(answer(HOST, flags=wire.AD | wire.RA))
    await plugin.serve(question("host.up.test"), behind.handler)
    for flags, expected in ((wire.RD, wire.RA), (wire.RD | wire.AD, wire.RA | wire.AD)):
        reply = await plugin.serve(question("host.up.test", flags=flags), behind.handler)
        assert reply is not None
        assert reply.flags == expected
