"""A proxy of any mode on every node of the world, fed with objects directly.

Each has a thread of its own that stays in its node's namespace, as the proxy's worker does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from fairway.api.objects import EndpointSlice, Service
from fairway.kernel import namespaces
from fairway.proxy import modes
from fairway.proxy.changes import PortState, Tracker
from fairway.proxy.programming import Changes, Mode
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from tests.behaviour.places import CLUSTER_CIDRS, NODES, SERVICE_RANGES, ZONES
from tests.behaviour.services import Given, service, slices

from .world import World

T = TypeVar("T")


def settings_of(node: str) -> Settings:
    own = NODES[node]
    return Settings(cluster_cidrs=CLUSTER_CIDRS, service_ranges=SERVICE_RANGES, node_ips=(own.v4, own.v6))


class NodeProxy:
    def __init__(self, world: World, node: str, mode: str, **settings: Any) -> None:
        path = world.nodes[node].namespace.path
        self.node = node
        self.tracker = Tracker(Place(node, ZONES[node]))
        self.states: dict[str, tuple[PortState, ...]] = {}
        self.programmed: list[Callable[[Changes], None]] = []
        """Who wants to know what is in force."""
        self.worker = ThreadPoolExecutor(1, f"proxy-{node}", namespaces.enter_path, (path,))
        self._stack = contextlib.ExitStack()
        chosen = replace(settings_of(node), **settings)
        self.mode: Mode[Settings] = self.run(
            lambda: self._stack.enter_context(modes.opened(mode, chosen, node))
        )
        self.run(lambda: self.mode.synchronise({}))

    def run(self, work: Callable[[], T]) -> T:
        """In the one thread that all calls of a mode come from."""
        return self.worker.submit(work).result()

    def apply(self) -> None:
        changes = self.tracker.take()
        self.run(lambda: self.mode.apply(changes))
        self.states |= changes
        for tell in self.programmed:
            tell(changes)

    def configure(self, settings: Settings) -> None:
        self.run(lambda: self.mode.configure(settings))
        self.synchronise()

    def is_intact(self) -> bool:
        return self.run(self.mode.is_intact)

    def synchronise(self) -> None:
        self.run(lambda: self.mode.synchronise({}))

    def close(self) -> None:
        try:
            self.run(self.mode.remove)
            self.run(self._stack.close)
        finally:
            self.worker.shutdown()


class Fleet:
    """What one proxy is told, all are told."""

    def __init__(self, proxies: list[NodeProxy]) -> None:
        self.proxies = proxies
        self._services: dict[str, Service] = {}
        self._slices: dict[str, EndpointSlice] = {}

    def put(self, *all_given: Given) -> None:
        """Services and their slices, as they are now; all in one go."""
        for given in all_given:
            made = service(given)
            self._tell_service(made.metadata.key, made)
            wanted = {view.metadata.key: view for view in slices(given)}
            for key in [key for key in self._slices if _belongs(self._slices[key], given.name)]:
                if key not in wanted:
                    self._tell_slice(key, None)
            for key, view in wanted.items():
                self._tell_slice(key, view)
        self.apply()

    def delete(self, given: Given) -> None:
        self._tell_service(f"default/{given.name}", None)
        self.apply()

    def apply(self) -> None:
        for proxy in self.proxies:
            proxy.apply()

    def configure(self, **settings: Any) -> None:
        for proxy in self.proxies:
            proxy.configure(replace(settings_of(proxy.node), **settings))

    def close(self) -> None:
        for proxy in self.proxies:
            proxy.close()

    def _tell_service(self, key: str, new: Service | None) -> None:
        old = self._services.pop(key, None)
        if new is not None:
            self._services[key] = new
        for proxy in self.proxies:
            proxy.tracker.service_changed(key, old, new)

    def _tell_slice(self, key: str, new: EndpointSlice | None) -> None:
        old = self._slices.pop(key, None)
        if new is not None:
            self._slices[key] = new
        for proxy in self.proxies:
            proxy.tracker.slice_changed(key, old, new)


def _belongs(view: EndpointSlice, service_name: str) -> bool:
    return view.metadata.label("kubernetes.io/service-name") == service_name


@contextlib.contextmanager
def fleet(world: World, mode: str, **settings: Any) -> Iterator[Fleet]:
    with contextlib.ExitStack() as stack:
        proxies = []
        for node in world.nodes:
            proxies.append(NodeProxy(world, node, mode, **settings))
            stack.callback(proxies[-1].close)
        yield Fleet(proxies)
