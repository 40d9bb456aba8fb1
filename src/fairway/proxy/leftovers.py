"""What other proxy modes have left behind in this network namespace, and how it goes.

Needs no API server. A mode whose kernel part or programs are missing here can have left nothing.
"""

from __future__ import annotations

import structlog

from fairway.kernel.traces import Traces, traces
from fairway.proxy.modes import MODES, opened
from fairway.proxy.nftables.ruleset import TABLE
from fairway.proxy.settings import Settings

log = structlog.get_logger()

# Modes whose chains have the same names: removing what one has left would take the other's along.
_SHARE_CHAINS = frozenset({"iptables", "ipvs"})
# The tables of those that have tables of their own.
_TABLES = {"nftables": TABLE, "userspace": "fairway-userspace"}
# Not every KUBE- chain is a proxy's: kubelet has some, too.
_CHAINS = ("KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-SVC-", "KUBE-NODE-PORT")
_DEVICE = "kube-ipvs0"


class CleanupFailed(Exception):
    """Something of a mode could not be removed."""


def remove_rules() -> None:
    """Leave nothing of any mode behind. All are tried; one that can't be opened here has nothing left."""
    failures = {name: error for name in MODES if (error := _remove(name)) is not None}
    if not failures:
        return
    found = traces()
    left = [f"{name} ({error})" for name, error in failures.items() if has_left(name, found)]
    if left:
        raise CleanupFailed(f"rules are left of {', '.join(left)}: run this as root in the node's namespace")


def before_programming(mode: str) -> tuple[str, ...]:
    """The modes whose leftovers must be gone before `mode` begins."""
    return tuple(name for name in MODES if name != mode and {name, mode} <= _SHARE_CHAINS)


def after_programming(mode: str) -> tuple[str, ...]:
    """The modes whose leftovers serve clients until `mode` is in force; nothing is interrupted that way."""
    return tuple(name for name in MODES if name != mode and not {name, mode} <= _SHARE_CHAINS)


def remove_leftovers(modes: tuple[str, ...]) -> None:
    """Failures are only told: the mode that is wanted may well work in spite of them."""
    try:
        found = traces()
    except Exception as error:
        log.warning("could not look for what other modes have left", error=str(error))
        return
    for name in modes:
        if not has_left(name, found):
            continue
        failure = _remove(name)
        if failure is None:
            log.info("removed what another mode had left", mode=name)
        else:
            log.warning("could not remove what another mode had left", mode=name, error=str(failure))


def has_left(mode: str, found: Traces) -> bool:
    """Whether there may be something of a mode."""
    if mode in _TABLES:
        return _TABLES[mode] in found.tables
    if mode == "ipvs":
        return _DEVICE in found.devices
    return any(chain.startswith(_CHAINS) for chain in found.chains) or "nat" in found.legacy_tables


def _remove(name: str) -> Exception | None:
    try:
        with opened(name, Settings(), "") as mode:
            mode.remove()
    except Exception as error:
        return error
    return None
