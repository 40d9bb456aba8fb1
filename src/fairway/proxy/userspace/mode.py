"""This mode with the real kernel under it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fairway.kernel import namespaces
from fairway.kernel.conntrack import KernelConntrack
from fairway.kernel.local_addresses import local_addresses
from fairway.kernel.local_delivery import KernelLocalDelivery
from fairway.kernel.nftables import LibNftables
from fairway.proxy.nftables.applier import Applier as Rules
from fairway.proxy.nftables.applier import Kernel
from fairway.proxy.settings import Settings
from fairway.proxy.userspace.applier import Applier
from fairway.proxy.userspace.channel import RelayChannel
from fairway.proxy.userspace.messages import RANGE_V4, RANGE_V6
from fairway.proxy.userspace.ruleset import LAYOUT, TRANSPARENT_MARK


@contextlib.contextmanager
def opened(settings: Settings, node: str) -> Iterator[Applier]:
    """In the network namespace of the calling thread."""
    descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    namespace = Path(f"/proc/self/fd/{descriptor}")

    def own_addresses() -> frozenset[str]:
        return namespaces.run_inside(namespace, local_addresses)

    delivery = KernelLocalDelivery(namespace, (RANGE_V4, RANGE_V6), TRANSPARENT_MARK)
    try:
        with (
            contextlib.closing(LibNftables()) as nftables,
            contextlib.closing(KernelConntrack()) as conntrack,
            contextlib.closing(RelayChannel(namespace)) as relays,
        ):
            rules = Rules(Kernel(nftables, conntrack, own_addresses), settings, node, LAYOUT)
            yield Applier(rules, relays, delivery, own_addresses)
    finally:
        os.close(descriptor)
