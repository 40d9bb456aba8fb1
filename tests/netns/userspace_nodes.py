"""A proxy in userspace mode on every node of a test network, each with a relay process of its own."""

from __future__ import annotations

import contextlib

from fairway.proxy.changes import Tracker
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from fairway.proxy.userspace.mode import opened

from .proxy_nodes import SETTINGS, Fleet
from .topology import Network, Node


class UserspaceProxy:
    def __init__(self, node: Node, settings: Settings = SETTINGS) -> None:
        self.node = node
        self.tracker = Tracker(Place(node.name))
        self._stack = contextlib.ExitStack()
        self._open(settings)
        self.applier.synchronise({})

    def restart(self, settings: Settings | None = None) -> None:
        """As after kill -9 of the proxy, but not of its relay."""
        settings = settings or self.applier.settings
        self._stack.close()
        self._open(settings)
        self.tracker.all_changed()
        self.applier.synchronise(self.tracker.take())

    def close(self) -> None:
        self.applier.remove()
        self._stack.close()

    def _open(self, settings: Settings) -> None:
        mode = opened(settings, self.node.name)
        self.applier = self.node.namespace.run(mode.__enter__)
        self._stack.callback(mode.__exit__, None, None, None)


class UserspaceFleet(Fleet):
    def __init__(self, network: Network) -> None:
        super().__init__(network, UserspaceProxy)
