"""This mode with the real kernel under it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from fairway.kernel import sysctl
from fairway.kernel.conntrack import KernelConntrack
from fairway.kernel.dummy_device import KernelDummyDevice
from fairway.kernel.ipset import KernelIpset
from fairway.kernel.iptables_restore import HostIptables
from fairway.kernel.ipvs import IpvsUnavailable, KernelIpvs
from fairway.kernel.local_addresses import local_addresses
from fairway.proxy.ipvs.applier import DEVICE, Applier, Kernel
from fairway.proxy.ipvs.filtering import Filtering
from fairway.proxy.ipvs.tuning import Tuning
from fairway.proxy.model import Family
from fairway.proxy.settings import Settings


@contextlib.contextmanager
def opened(settings: Settings, node: str) -> Iterator[Applier]:
    """In the network namespace of the calling thread."""
    with contextlib.ExitStack() as stack:
        ipvs, counting = (stack.enter_context(contextlib.closing(KernelIpvs())) for _ in range(2))
        device = stack.enter_context(contextlib.closing(KernelDummyDevice(DEVICE)))
        ipset = stack.enter_context(contextlib.closing(KernelIpset()))
        conntrack = stack.enter_context(contextlib.closing(KernelConntrack()))
        filtering = Filtering(ipset, HostIptables(), _families())
        kernel = Kernel(ipvs, device, filtering, conntrack, Tuning(sysctl), local_addresses, counting)
        yield Applier(kernel, settings, node)


def problem() -> str:
    """What keeps this machine from running this mode, and what to do; empty if nothing does."""
    with contextlib.closing(KernelIpvs()) as ipvs:
        try:
            ipvs.require()
        except IpvsUnavailable as error:
            return str(error)
    return ""


def _families() -> tuple[Family, ...]:
    six = Path("/proc/thread-self/net/if_inet6").exists()
    return (Family.IPV4, Family.IPV6) if six else (Family.IPV4,)
