"""Requests that never stop, while endpoints are replaced one by one or while someone wipes a node's rules."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator

import pytest

from fairway.kernel import namespaces
from fairway.proxy.modes import MODES
from fairway.proxy.programming import Changes, Observer, Pace, Programmer
from fairway.proxy.settings import Settings
from tests.behaviour.expectations import Answer, Kind, destination
from tests.behaviour.places import POD_PORT, SERVICE_PORT
from tests.behaviour.services import Behind, Given, leaving

from .behaviour.fleet import Fleet, NodeProxy, fleet
from .behaviour.packets import ask
from .behaviour.world import World, world
from .topology import Server

SERVICE, PATIENCE, DEADLINE = "everywhere", 20.0, 60.0
HERE = [mode for mode in MODES if mode != "ipvs"]
# Who asks, and by which address.
ASKING = (("1c", "cluster"), ("outside", "node-port@node-2"), ("node-3", "cluster"))
# Replaced one by one: who goes, and who comes in its place.
ROLLING = (("1a", "1b"), ("2a", "2c"), ("3a", "3c"), ("1b", "1a"))
WIPES = {
    "nftables": (("nft", "flush", "ruleset"),),
    "userspace": (("nft", "flush", "ruleset"),),
    "iptables": (("iptables-nft", "-t", "nat", "-F"), ("ip6tables-nft", "-t", "nat", "-F")),
}


@pytest.fixture(scope="module")
def built() -> Iterator[World]:
    with world() as made:
        yield made


@pytest.fixture(scope="module", params=HERE)
def proxies(request: pytest.FixtureRequest, built: World) -> Iterator[Fleet]:
    with fleet(built, request.param) as made:
        yield made


class Load:
    """Clients that ask again as soon as they are answered, from where they are."""

    def __init__(self, built: World) -> None:
        self.answers: list[Answer] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(built, *who)) for who in ASKING]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    @property
    def failures(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.kind is not Kind.REACHED]

    def answered(self, more: int) -> None:
        """Wait until so many more requests have been answered."""
        wanted, deadline = len(self.answers) + more, time.monotonic() + DEADLINE
        while len(self.answers) < wanted:
            assert time.monotonic() < deadline, "the load has come to a halt"
            time.sleep(0.01)

    def _run(self, built: World, client: str, to: str) -> None:
        namespaces.enter_path(built.clients[client].path)
        while not self._over.is_set():
            self.answers.append(ask("tcp", *destination(SERVICE, to, 4), "", PATIENCE))
            # Leaves something of the machine to those who change the rules.
            time.sleep(0.003)


class Servers:
    """The servers of the Pods, which close and open again."""

    def __init__(self, built: World) -> None:
        self._pods = {pod.name: pod for node in built.network.nodes for pod in node.pods}

    def close(self, name: str) -> None:
        self._pods[name].server.close()

    def open(self, name: str) -> None:
        pod = self._pods[name]
        pod.server = Server(pod.namespace, name, POD_PORT)


def test_no_request_fails_while_endpoints_are_replaced_one_by_one(built: World, proxies: Fleet) -> None:
    servers, current = Servers(built), ["1a", "2a", "3a"]
    proxies.put(_given(_ready(current)))
    with Load(built) as load:
        for old, new in ROLLING:
            current.remove(old)
            proxies.put(_given((*_ready(current), Behind(new), leaving(old))))
            current.append(new)
            load.answered(10)
            proxies.put(_given(_ready(current)))
            servers.close(old)
            load.answered(20)
            servers.open(old)
    assert load.failures == []
    assert len(load.answers) > 30 * len(ROLLING)


def test_no_connection_through_an_endpoint_that_is_leaving_is_cut(built: World, proxies: Fleet) -> None:
    proxies.put(_given(_ready(["1a"])))
    address = destination(SERVICE, "cluster", 4)[0]
    with contextlib.closing(built.clients["2c"].socket()) as held:
        held.connect((address, SERVICE_PORT))
        assert held.recv(100)
        proxies.put(_given((leaving("1a"), Behind("2a"))))
        proxies.put(_given(_ready(["2a"])))
        held.sendall(b"still here")
        assert held.recv(100) == b"still here"


async def test_rules_that_someone_wipes_are_put_back_and_traffic_flows_again(
    request: pytest.FixtureRequest, built: World, proxies: Fleet
) -> None:
    mode = request.node.callspec.params["proxies"]
    proxies.put(_given(_ready(["1a", "2a"])))
    first, noticed = proxies.proxies[0], Noticed()
    with _watched(first, noticed) as watching:
        running = asyncio.create_task(watching.run())
        try:
            await noticed.start.wait()
            assert await _reached(built) == Kind.REACHED
            for wipe in WIPES[mode]:
                built.nodes["node-1"].namespace.command(*wipe)
            began = time.monotonic()
            # It may be put back before anyone could see that it is gone.
            while not noticed.count or await _reached(built) is not Kind.REACHED:
                assert time.monotonic() - began < DEADLINE
                await asyncio.sleep(0.01)
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
    assert first.is_intact()


@contextlib.contextmanager
def _watched(proxy: NodeProxy, observer: Observer) -> Iterator[Programmer[Settings]]:
    """The loop that a real proxy runs."""
    pace = Pace(check=0.5)
    yield Programmer(
        *(proxy.tracker, proxy.mode, proxy.worker, lambda: 0, lambda revision: None, pace), observer=observer
    )


class Noticed(Observer):
    """That everything was programmed once, and how often changes of others were seen since."""

    def __init__(self) -> None:
        self.start = asyncio.Event()
        self.count = 0

    def programmed(self, changes: Changes, everything: bool, took: float) -> None:
        self.start.set()

    def repaired(self) -> None:
        self.count += 1


async def _reached(built: World) -> Kind:
    """How a Pod of the first node fares."""

    def asking() -> Kind:
        return ask("tcp", *destination(SERVICE, "cluster", 4), "", 0.3).kind

    return await asyncio.to_thread(namespaces.run_inside, built.clients["1c"].path, asking)


def _given(endpoints: tuple[Behind, ...]) -> Given:
    return Given(SERVICE, endpoints, protocols=("TCP",))


def _ready(names: list[str]) -> tuple[Behind, ...]:
    return tuple(Behind(name) for name in names)
