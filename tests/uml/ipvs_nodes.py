"""A proxy in ipvs mode on every node of a test network, fed with objects directly; for user-mode Linux."""

from __future__ import annotations

import time

from fairway.kernel import sysctl
from fairway.kernel.conntrack import KernelConntrack
from fairway.kernel.dummy_device import KernelDummyDevice
from fairway.kernel.ipset import KernelIpset
from fairway.kernel.iptables_restore import HostIptables
from fairway.kernel.ipvs import KernelIpvs
from fairway.kernel.local_addresses import local_addresses
from fairway.proxy.changes import Tracker
from fairway.proxy.ipvs.applier import DEVICE, Applier, Kernel
from fairway.proxy.ipvs.filtering import Filtering
from fairway.proxy.ipvs.tuning import Tuning
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place
from tests.netns.proxy_nodes import SETTINGS, Fleet
from tests.netns.topology import Namespace, Network, Node


class _SysctlsInside:
    def __init__(self, space: Namespace) -> None:
        self._space = space

    def write(self, name: str, value: str) -> str:
        return self._space.run(lambda: sysctl.write(name, value))


class Clock:
    """The real time, which a test may let run ahead."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


class IpvsNode:
    """As `NodeProxy` of the nftables mode."""

    def __init__(self, node: Node, settings: Settings = SETTINGS) -> None:
        space = node.namespace
        self.node, self.clock = node, Clock()
        self.kernel = Kernel(
            space.run(KernelIpvs),
            space.run(lambda: KernelDummyDevice(DEVICE)),
            Filtering(space.run(KernelIpset), HostIptables(space.run)),
            space.run(KernelConntrack),
            Tuning(_SysctlsInside(space)),
            lambda: space.run(local_addresses),
            space.run(KernelIpvs),
        )
        self.tracker = Tracker(Place(node.name))
        self.applier = self._start(settings)
        self.applier.synchronise({})

    def restart(self, settings: Settings | None = None) -> None:
        """As after kill -9: nothing is remembered but what the kernel holds and the API tells."""
        self.applier = self._start(settings or self.applier.settings)
        self.tracker.all_changed()
        self.applier.synchronise(self.tracker.take())

    def close(self) -> None:
        self.applier.remove()
        self.kernel.ipvs.close()
        if self.kernel.counting:
            self.kernel.counting.close()
        self.kernel.device.close()
        self.kernel.conntrack.close()

    def _start(self, settings: Settings) -> Applier:
        return Applier(self.kernel, settings, self.node.name, self.clock)


class IpvsFleet(Fleet):
    def __init__(self, network: Network) -> None:
        self.proxies = [IpvsNode(node) for node in network.nodes]  # type: ignore[assignment,misc]
        self._services = {}
        self._slices = {}

    def reset(self) -> None:
        """Restarting takes a second here, so only those restart that have other settings."""
        for key in list(self._services):
            self._set_service(key, None)
        for key in list(self._slices):
            self._set_slice(key, None)
        for proxy in self.proxies:
            if proxy.applier.settings != SETTINGS:
                proxy.restart(SETTINGS)
