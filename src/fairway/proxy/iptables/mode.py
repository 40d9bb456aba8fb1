"""This mode with the real kernel under it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fairway.kernel import sysctl
from fairway.kernel.conntrack import KernelConntrack
from fairway.kernel.counters import KernelCounters
from fairway.kernel.iptables import NftIptables
from fairway.kernel.local_addresses import local_addresses
from fairway.proxy.iptables.applier import Applier, Kernel
from fairway.proxy.settings import Settings


@contextlib.contextmanager
def opened(settings: Settings, node: str) -> Iterator[Applier]:
    """In the network namespace of the calling thread."""
    with (
        contextlib.closing(NftIptables()) as iptables,
        contextlib.closing(KernelConntrack()) as conntrack,
        contextlib.closing(KernelCounters()) as counters,
    ):
        kernel = Kernel(iptables, conntrack, local_addresses, sysctl.read, sysctl.write, counters)
        yield Applier(kernel, settings)
