"""This mode with the real kernel under it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fairway.kernel.conntrack import KernelConntrack
from fairway.kernel.local_addresses import local_addresses
from fairway.kernel.nftables import LibNftables
from fairway.proxy.nftables.applier import Applier, Kernel
from fairway.proxy.settings import Settings


@contextlib.contextmanager
def opened(settings: Settings, node: str) -> Iterator[Applier]:
    """In the network namespace of the calling thread."""
    with contextlib.closing(LibNftables()) as nftables, contextlib.closing(KernelConntrack()) as conntrack:
        yield Applier(Kernel(nftables, conntrack, local_addresses), settings, node)
