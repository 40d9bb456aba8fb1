"""This mode with the real kernel under it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import structlog

from fairway.kernel.conntrack import KernelConntrack
from fairway.kernel.counters import KernelCounters
from fairway.kernel.local_addresses import local_addresses
from fairway.kernel.nftables import LibNftables, TableWatch
from fairway.proxy.nftables.applier import Applier, Kernel
from fairway.proxy.nftables.counting import ConnectionCounts
from fairway.proxy.nftables.ruleset import TABLE
from fairway.proxy.settings import Settings

log = structlog.get_logger()


@contextlib.contextmanager
def opened(settings: Settings, node: str) -> Iterator[Applier]:
    """In the network namespace of the calling thread."""
    with contextlib.ExitStack() as stack:
        nftables = stack.enter_context(contextlib.closing(LibNftables()))
        conntrack = stack.enter_context(contextlib.closing(KernelConntrack()))
        watch = _watch()
        if watch is not None:
            stack.enter_context(contextlib.closing(watch))
        programming, counting = (stack.enter_context(contextlib.closing(KernelCounters())) for _ in range(2))
        counts = ConnectionCounts(programming, counting, TABLE)
        yield Applier(Kernel(nftables, conntrack, local_addresses, watch, counts), settings, node)


def _watch() -> TableWatch | None:
    """Without it, changes by others are noticed a second later."""
    try:
        return TableWatch(TABLE)
    except OSError as error:
        log.info("the kernel announces no changes of rules", error=str(error))
        return None
