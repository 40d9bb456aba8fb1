"""Where requests go, by the pure model alone."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

import msgspec
import pytest

from fairway.ingress.routes import Host, Route, candidates, choose

from .cluster import Cluster, service
from .requests import INGRESSES, REQUESTS, SERVICES


@pytest.fixture(scope="module")
def entries() -> dict[str, bytes]:
    cluster = Cluster()
    cluster.put(*INGRESSES, *(service(name) for name in SERVICES))
    return cluster.table.take().set


def seen_path(target: str) -> str:
    """A request's path as nginx sees it: decoded, without dots and double slashes."""
    path = unquote(target.partition("?")[0])
    clean = re.sub("^//", "/", posixpath.normpath(path))
    return f"{clean}/" if path.endswith("/") and clean != "/" else clean


def routed(entries: dict[str, bytes], host: str, target: str) -> str | int:
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    for candidate in candidates(name):
        if text := entries.get(f"host:{candidate}"):
            found = choose(msgspec.json.decode(text, type=Host).routes, seen_path(target))
            if found:
                return answering(found)
            break
    return answering(msgspec.json.decode(entries["fallback"], type=Route))


def answering(route: Route) -> str | int:
    return 503 if route.backend == "-" else route.backend.partition("/")[2].partition(":")[0]


@pytest.mark.parametrize(("host", "target", "wanted"), REQUESTS)
def test_a_request_takes_the_route_that_kubernetes_says(
    entries: dict[str, bytes], host: str, target: str, wanted: str | int
) -> None:
    assert routed(entries, host, target) == wanted


def test_there_are_enough_rows() -> None:
    assert len(REQUESTS) >= 100
