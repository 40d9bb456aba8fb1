"""A node in ipvs mode on a fake kernel, for tests."""

from __future__ import annotations

from fairway.kernel.conntrack import FakeConntrack
from fairway.kernel.dummy_device import FakeDummyDevice
from fairway.kernel.fake_ipset import FakeIpset
from fairway.kernel.fake_iptables import FakeIptables, FakeIptablesRestore
from fairway.kernel.fake_ipvs import FakeIpvs
from fairway.kernel.ipset import Entry
from fairway.kernel.ipvs import ServerName
from fairway.proxy.changes import Tracker
from fairway.proxy.ipvs.applier import DEVICE, Applier, Kernel
from fairway.proxy.ipvs.filtering import Filtering
from fairway.proxy.ipvs.tuning import Tuning
from fairway.proxy.programming import Changes
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place

OWN = "192.0.2.1"
OWN_ADDRESSES = frozenset({OWN, "127.0.0.1", "2001:db8::1", "fe80::1"})
WEB = ServerName(4, "tcp", "10.96.0.80", 80)
SETTINGS = Settings(cluster_cidrs=("10.244.0.0/16",), service_ranges=("10.96.0.0/16",), node_ips=(OWN,))


class FakeSysctls:
    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def write(self, name: str, value: str) -> str:
        before = self.values.get(name, "0")
        self.values[name] = value
        return before


class Node:
    def __init__(
        self,
        settings: Settings = SETTINGS,
        name: str = "n1",
        own: frozenset[str] = OWN_ADDRESSES,
        tracker: Tracker | None = None,
    ) -> None:
        self.ipvs, self.ipset, self.iptables = FakeIpvs(), FakeIpset(), FakeIptables()
        self.device, self.conntrack, self.sysctls = FakeDummyDevice(DEVICE), FakeConntrack(), FakeSysctls()
        self.name, self.own = name, own
        self.now = 0.0
        self.told: Changes = {}
        self.tracker = tracker or Tracker(Place(name))
        self.kernel = Kernel(
            self.ipvs,
            self.device,
            Filtering(self.ipset, FakeIptablesRestore(self.iptables)),
            self.conntrack,
            Tuning(self.sysctls),
            lambda: self.own | self.device.addresses(),
        )
        self.applier = self.start(settings)

    def start(self, settings: Settings = SETTINGS) -> Applier:
        """A new process, which knows nothing of an earlier one."""
        self.applier = Applier(self.kernel, settings, self.name, lambda: self.now)
        self.tracker.all_changed()
        self.told = self.tracker.take()
        self.applier.synchronise(self.told)
        return self.applier

    def apply(self) -> None:
        self.told = self.tracker.take()
        self.applier.apply(self.told)

    def is_intact(self) -> bool:
        self.now += 1
        return self.applier.is_intact()

    def weights(self, server: ServerName = WEB) -> dict[str, int]:
        """Of its real servers."""
        return {target.address: load.weight for target, load in self.ipvs.loads(server).items()}

    def entries(self, name: str) -> set[Entry]:
        return self.ipset.members[name]
