"""Starts a cluster's components in order, keeps them running, and takes everything down again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from fairway.cluster import host_network, processes
from fairway.cluster.choices import Choices
from fairway.cluster.components import Components, Gate, import_shared
from fairway.cluster.layout import Layout
from fairway.cluster.processes import Child
from fairway.cluster.record import Record, remove_record, write_record
from fairway.cluster.rootless import Inside

READY_SECONDS = 30.0

Say = Callable[[str, str], None]
"""Called with what was done and a detail, after each step."""


class StartError(Exception):
    """A component did not come up; the message says which and where its log is."""


class Supervisor:
    def __init__(
        self,
        choices: Choices,
        layout: Layout,
        say: Say,
        previous: Record | None = None,
        inside: Inside | None = None,
    ) -> None:
        """`inside` is what was handed to us in an ordinary user's namespaces."""
        self._choices = choices
        self._data = choices.data
        self._layout = layout
        self._say = say
        self._children: list[Child] = []
        self._stopping = False
        self._record: Record | None = previous
        self._inside = inside

    def start(self) -> None:
        """Bring everything up, each step as soon as what it needs is there."""
        layout = self._layout
        was_off = bool(self._record and self._record.forwarding_was_off)
        self._write_record(was_off)
        api_socket = self._inside.api_socket if self._inside else -1
        components = Components(self._choices, layout, api_socket)
        network = Gate()
        apiserver = components.apiserver(network)
        self._begin([apiserver])
        turned_on = host_network.build(layout)
        self._write_record(was_off or turned_on)
        network.open()
        self._say("network", f"bridge {layout.bridge}, {layout.node_count} node namespaces")
        import_shared()
        self._await([apiserver])
        self._say("API server", f"https://127.0.0.1:{self._choices.port}")
        others = [components.controllers(), components.dns(), *components.nodes()]
        self._begin(others)
        self._await(others)
        self._say("controllers, DNS", f"DNS at {layout.dns_address}")
        self._say("nodes", ", ".join(f"{node.name} {node.address}" for node in layout.nodes))

    def _write_record(self, forwarding_was_off: bool) -> None:
        self._record = Record(
            self._layout.index,
            self._layout.node_count,
            self._choices.port,
            self._inside.outer_pid if self._inside else os.getpid(),
            self._choices.proxy_mode,
            forwarding_was_off,
            rootless=self._inside is not None,
        )
        write_record(self._data, self._record)

    def _begin(self, children: list[Child]) -> None:
        for child in children:
            child.start()
            self._children.append(child)

    def _await(self, children: list[Child]) -> None:
        deadline = time.monotonic() + READY_SECONDS
        for child in children:
            if not child.wait_ready(max(0.0, deadline - time.monotonic())):
                raise StartError(f"{child.name} did not start; its log is {child.log}")

    def watch_over(self) -> None:
        """Until asked to stop: start again what dies."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask_to_stop)
        while not self._stopping:
            self._reap()
            now = time.monotonic()
            for child in self._children:
                if not child.pid and child.restart_at <= now:
                    child.start()
            time.sleep(0.1)

    def _ask_to_stop(self, number: int, frame: object) -> None:
        self._stopping = True

    def _reap(self) -> None:
        for child in self._children:
            if child.pid and os.waitpid(child.pid, os.WNOHANG)[0]:
                child.ended()

    def stop(self) -> None:
        """End every process, then remove Pods, namespaces, devices and tables."""
        processes.stop(self._children[::-1])
        from fairway.cluster.teardown import tear_down

        if self._record:
            tear_down(self._data, self._record)
        remove_record(self._data)
