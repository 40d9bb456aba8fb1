"""The routing table of the pure model, as real requests through nginx, and what annotations make of them."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.component.ingress_under_test import Front, ask, several
from tests.unit.ingress.cluster import ingress, slice_of
from tests.unit.ingress.requests import INGRESSES, REQUESTS, SERVICES, E, I, P


async def test_every_request_takes_the_route_of_the_model(served: Front) -> None:
    await served.serve(SERVICES)
    await served.tell(*INGRESSES)
    wrong = []
    for host, target, wanted in REQUESTS:
        found = (await served.get(host, target)).service
        if found != wanted:
            wrong.append(f"{host} {target}: {found} instead of {wanted}")
    assert not wrong


async def test_what_a_server_sees_tells_who_the_client_is(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(ingress("one", ("web.test", P, "/", "web")))
    seen = (await served.get("web.test", "/a%2Fb?x=1", X_Forwarded_For="6.6.6.6")).seen
    assert seen["target"] == "/a%2Fb?x=1"
    headers = seen["headers"]
    assert headers["host"] == "web.test"
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert headers["x-original-forwarded-for"] == "6.6.6.6"
    assert headers["x-forwarded-proto"] == "http"
    assert headers["x-request-id"]


async def test_health_is_told_whatever_routes_there_are(served: Front) -> None:
    await served.serve(["web"])
    for routes in ((), (ingress("all", ("", P, "/", "web")), ingress("one", ("web.test", P, "/", "web")))):
        await served.tell(*routes)
        for host in ("web.test", "nowhere.test", "192.0.2.7"):
            answer = await served.get(host, "/.fairway/healthz")
            assert (answer.status, answer.body) == (200, b"ok\n")


async def test_every_request_has_an_id_of_its_own_unless_it_brings_one(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(ingress("one", ("web.test", P, "/", "web")))

    async def id_of(**headers: str) -> str:
        return str((await served.get("web.test", **headers)).seen["headers"]["x-request-id"])

    made = {await id_of() for _ in range(3)}
    await served.nginx.stop()
    await served.nginx.start()
    await served.control.replace(served.cluster.table.entries())
    assert len(made | {await id_of() for _ in range(3)}) == 6
    assert await id_of(X_Request_ID="mine") == "mine"


async def test_a_target_is_rewritten_with_what_the_path_matched(served: Front) -> None:
    await served.serve(["web"])
    rule = ("web.test", I, "/something(/|$)(.*)", "web")
    await served.tell(ingress("one", rule, use_regex="true", rewrite_target="/new/$2"))
    assert (await served.get("web.test", "/something/a/b?c=d")).seen["target"] == "/new/a/b?c=d"
    assert (await served.get("web.test", "/something")).seen["target"] == "/new/"


async def test_requests_without_tls_are_led_to_it_where_there_is_some(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(
        ingress("one", ("web.test", P, "/", "web"), tls={"none": ["web.test"]}),
        ingress("two", ("plain.test", P, "/", "web"), tls={"none": ["plain.test"]}, ssl_redirect="false"),
        ingress("three", ("forced.test", P, "/", "web"), force_ssl_redirect="true"),
    )
    for host in ("web.test", "forced.test"):
        answer = await served.get(host, "/x?y=1")
        assert (answer.status, answer.headers["location"]) == (308, f"https://{host}/x?y=1")
        assert (await served.get(host, tls=True)).service == "web"
    assert (await served.get("plain.test")).service == "web"


async def test_browsers_are_told_to_stay_with_tls_where_a_route_has_it(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(
        ingress("one", ("web.test", P, "/", "web"), tls={"none": ["web.test"]}, ssl_redirect="false"),
        ingress("two", ("plain.test", P, "/", "web")),
    )
    told = [
        (host, tls)
        for host in ("web.test", "plain.test")
        for tls in (True, False)
        if "strict-transport-security" in (await served.get(host, tls=tls)).headers
    ]
    assert told == [("web.test", True)]


async def test_redirects_are_answered_without_a_server(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(
        ingress("one", ("old.test", P, "/", "web"), permanent_redirect="https://new.test/x"),
        ingress("two", ("moved.test", P, "/", "web"), temporal_redirect="https://new.test/"),
        ingress("three", ("root.test", P, "/", "web"), app_root="/app"),
    )
    found = [await served.get(host) for host in ("old.test", "moved.test", "root.test")]
    assert [(a.status, a.headers["location"]) for a in found[:2]] == [
        (301, "https://new.test/x"),
        (302, "https://new.test/"),
    ]
    assert (found[2].status, found[2].headers["location"].endswith("/app")) == (302, True)
    assert (await served.get("root.test", "/app")).service == "web"


async def test_who_may_come_and_how_often(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(
        ingress("one", ("closed.test", P, "/", "web"), whitelist_source_range="10.0.0.0/8, 2001:db8::/32"),
        ingress("two", ("open.test", P, "/", "web"), allowlist_source_range="127.0.0.0/8"),
        ingress("three", ("denied.test", P, "/", "web"), denylist_source_range="127.0.0.1/32"),
        ingress("four", ("slow.test", P, "/", "web"), limit_rps="1", limit_burst_multiplier="3"),
    )
    assert (await served.get("closed.test")).status == 403
    assert (await served.get("open.test")).status == 200
    assert (await served.get("denied.test")).status == 403
    statuses = [(await served.get("slow.test")).status for _ in range(8)]
    assert statuses[:3] == [200, 200, 200]
    assert 503 in statuses


async def test_bodies_that_are_too_large_are_refused(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(ingress("one", ("web.test", P, "/", "web"), proxy_body_size="1k"))
    small = await ask(served.config, "POST / HTTP/1.1", "web.test", {}, b"x" * 1024)
    assert small.seen["size"] == 1024
    assert (await ask(served.config, "POST / HTTP/1.1", "web.test", {}, b"x" * 1025)).status == 413


async def test_a_cookie_ties_a_client_to_an_endpoint_for_as_long_as_it_is_there(served: Front) -> None:
    await served.serve(["a", "b", "c", "web"])
    ports = [served.echoes[name].port for name in ("a", "b", "c")]
    await served.tell(
        ingress("one", ("web.test", P, "/", "web"), affinity="cookie", session_cookie_name="tie"),
        *several("web", ports),
    )
    first = await served.get("web.test")
    cookie = first.headers["set-cookie"].partition(";")[0]
    assert {(await served.get("web.test", Cookie=cookie)).service for _ in range(10)} == {first.service}
    left = [served.echoes[name].port for name in ("a", "b", "c") if name != first.service]
    await served.tell(*several("web", left))
    moved = await served.get("web.test", Cookie=cookie)
    assert moved.service not in (first.service, 502)
    assert "tie=" in moved.headers["set-cookie"]


async def test_endpoints_take_turns_and_one_that_does_not_answer_costs_no_request(served: Front) -> None:
    await served.serve(["a", "b", "web"])
    dead = served.echoes["web"]
    await dead.stop()
    ports = [served.echoes["a"].port, served.echoes["b"].port, dead.port]
    await served.tell(ingress("one", ("web.test", P, "/", "web")), *several("web", ports))
    found = Counter([(await served.get("web.test")).service for _ in range(30)])
    assert set(found) == {"a", "b"}
    assert min(found.values()) >= 8


async def test_the_same_key_goes_to_the_same_endpoint(served: Front) -> None:
    await served.serve(["a", "b", "c", "web"])
    ports = [served.echoes[name].port for name in ("a", "b", "c")]
    rule = ("web.test", P, "/", "web")
    await served.tell(ingress("one", rule, upstream_hash_by="$http_x_user"), *several("web", ports))
    homes = {
        user: {(await served.get("web.test", X_User=user)).service for _ in range(4)} for user in "abcdefgh"
    }
    assert all(len(found) == 1 for found in homes.values())
    assert len(set().union(*homes.values())) > 1


@pytest.mark.parametrize("balance", ["least_conn", "ewma"])
async def test_other_ways_to_balance_reach_everyone(served: Front, balance: str) -> None:
    await served.serve(["a", "b", "c", "web"])
    ports = [served.echoes[name].port for name in ("a", "b", "c")]
    await served.tell(
        ingress("one", ("web.test", P, "/", "web"), load_balance=balance), *several("web", ports)
    )
    found = await asyncio.gather(*(served.get("web.test") for _ in range(60)))
    assert {answer.service for answer in found} == {"a", "b", "c"}


async def test_a_canary_gets_its_share_and_whom_headers_and_cookies_send(served: Front) -> None:
    await served.serve(["web", "next"])
    rule = ("web.test", P, "/", "next")
    await served.tell(ingress("one", ("web.test", P, "/", "web")))
    await served.tell(
        ingress(
            "two",
            rule,
            canary="true",
            canary_weight="30",
            canary_by_header="X-Canary",
            canary_by_cookie="canary",
        )
    )
    found = Counter([(await served.get("web.test")).service for _ in range(300)])
    assert 50 <= found["next"] <= 130
    for value, wanted in (("always", "next"), ("never", "web")):
        assert (await served.get("web.test", X_Canary=value)).service == wanted
        assert (await served.get("web.test", Cookie=f"canary={value}")).service == wanted


async def test_browsers_are_told_what_they_may(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(
        ingress(
            "one",
            ("web.test", P, "/", "web"),
            enable_cors="true",
            cors_allow_origin="https://*.ok.test, https://me.test",
        )
    )
    asked = await ask(served.config, "OPTIONS / HTTP/1.1", "web.test", {"Origin": "https://a.ok.test"})
    assert asked.status == 204
    assert asked.headers["access-control-allow-origin"] == "https://a.ok.test"
    assert "PATCH" in asked.headers["access-control-allow-methods"]
    got = await served.get("web.test", Origin="https://me.test")
    assert got.headers["access-control-allow-origin"] == "https://me.test"
    assert (
        "access-control-allow-origin"
        not in (await served.get("web.test", Origin="https://evil.test")).headers
    )


async def test_an_upgraded_connection_carries_bytes_both_ways(served: Front) -> None:
    await served.serve(["web"])
    await served.tell(ingress("one", ("web.test", P, "/", "web")))
    reader, writer = await asyncio.open_connection("127.0.0.1", served.config.http_port)
    writer.write(b"GET / HTTP/1.1\r\nHost: web.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    writer.write(b"there and back")
    assert await asyncio.wait_for(reader.readexactly(14), 30) == b"there and back"
    writer.close()


async def test_without_endpoints_and_without_routes_it_says_so(served: Front) -> None:
    await served.serve(["web"])
    assert (await served.get("web.test")).status == 404
    await served.tell(ingress("one", ("web.test", E, "/", "web")), slice_of("web"))
    assert (await served.get("web.test")).status == 503
