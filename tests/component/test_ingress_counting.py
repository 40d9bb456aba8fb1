"""Every request is counted and logged, with the route it took and the endpoint it reached."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

from fairway.ingress.plan import NOWHERE
from tests.component.ingress_under_test import Front
from tests.unit.ingress.cluster import ingress
from tests.unit.ingress.requests import P


async def counted(served: Front, wanted: int) -> dict[str, int]:
    """The requests by route and status, once there are as many as wanted: workers tell once a second."""
    while True:
        pairs = [line.rpartition(" ")[::2] for line in (await served.control.counts()).splitlines()]
        found = {key: int(value) for key, value in pairs if key.startswith("requests|")}
        if sum(found.values()) >= wanted:
            return found
        await asyncio.sleep(0.05)


async def logged(served: Front, wanted: int) -> list[dict[str, Any]]:
    path = served.nginx.settings.folder / "access.log"
    while True:
        lines = path.read_text().splitlines()
        if len(lines) >= wanted:
            return [json.loads(line) for line in lines]
        await asyncio.sleep(0.05)


async def asked(served: Front) -> None:
    """Requests that need nothing but an endpoint, that need more, and that have no route, taking turns."""
    await served.serve(["web", "other"])
    await served.tell(
        ingress("plain", ("plain.test", P, "/", "web")),
        ingress("open", ("open.test", P, "/", "other"), enable_cors="true"),
        ingress("empty", ("empty.test", P, "/", "missing")),
    )
    for _ in range(5):
        for host in ("plain.test", "open.test", "nowhere.test", "empty.test"):
            await served.get(host)


async def test_requests_are_counted_by_the_route_they_took(served: Front) -> None:
    await asked(served)
    assert await counted(served, 20) == {
        "requests|default/plain|default/web:80|200": 5,
        "requests|default/open|default/other:80|200": 5,
        "requests|||404": 5,
        f"requests|default/empty|{NOWHERE}|503": 5,
    }


async def test_requests_are_logged_with_the_route_they_took(served: Front) -> None:
    await asked(served)
    lines = await logged(served, 20)
    names = ("host", "ingress", "backend", "status", "endpoint")
    ports = {name: echo.port for name, echo in served.echoes.items()}
    assert Counter(tuple(line[name] for name in names) for line in lines) == {
        ("plain.test", "default/plain", "default/web:80", 200, f"127.0.0.1:{ports['web']}"): 5,
        ("open.test", "default/open", "default/other:80", 200, f"127.0.0.1:{ports['other']}"): 5,
        ("nowhere.test", "", "", 404, ""): 5,
        ("empty.test", "default/empty", NOWHERE, 503, ""): 5,
    }
    assert len({line["request"] for line in lines}) == 20
