"""Linux capabilities: their names, what containers get by default, and what a Pod makes of that. Pure."""

from __future__ import annotations

from collections.abc import Iterable

# By number, as the kernel's capability masks count them.
NAMES = (
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_LINUX_IMMUTABLE",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_IPC_LOCK",
    "CAP_IPC_OWNER",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG",
    "CAP_MKNOD",
    "CAP_LEASE",
    "CAP_AUDIT_WRITE",
    "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP",
    "CAP_MAC_OVERRIDE",
    "CAP_MAC_ADMIN",
    "CAP_SYSLOG",
    "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ",
    "CAP_PERFMON",
    "CAP_BPF",
    "CAP_CHECKPOINT_RESTORE",
)

# Docker's default set.
DEFAULT = frozenset(
    {
        "CAP_AUDIT_WRITE",
        "CAP_CHOWN",
        "CAP_DAC_OVERRIDE",
        "CAP_FOWNER",
        "CAP_FSETID",
        "CAP_KILL",
        "CAP_MKNOD",
        "CAP_NET_BIND_SERVICE",
        "CAP_NET_RAW",
        "CAP_SETFCAP",
        "CAP_SETGID",
        "CAP_SETPCAP",
        "CAP_SETUID",
        "CAP_SYS_CHROOT",
    }
)


def from_mask(mask: int) -> frozenset[str]:
    return frozenset(name for number, name in enumerate(NAMES) if mask >> number & 1)


def granted(
    add: Iterable[str], drop: Iterable[str], privileged: bool, available: frozenset[str]
) -> tuple[str, ...]:
    """What a container gets, never more than we have to give (`available`)."""
    if privileged:
        return tuple(sorted(available))
    added, dropped = {_full(name) for name in add}, {_full(name) for name in drop}
    base = frozenset() if "ALL" in dropped else DEFAULT
    base = base | (available if "ALL" in added else frozenset())
    return tuple(sorted((base - dropped | added - {"ALL"}) & available))


def _full(name: str) -> str:
    upper = name.upper()
    return upper if upper == "ALL" or upper.startswith("CAP_") else f"CAP_{upper}"
