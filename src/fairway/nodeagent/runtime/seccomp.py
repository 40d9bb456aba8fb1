"""Which system calls a container may make: the default profile, as the OCI configuration has it. Pure.

An allow-list like those of other container runtimes: what concerns the whole machine is refused (keys,
modules, the clock, mounts, io_uring), unless the container holds the capability that stands for it. A call
that could make namespaces may only be made without asking for them.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import Any

from fairway.nodeagent.runtime.system_calls import FOR_EVERYONE

Json = dict[str, Any]

BY_CAPABILITY = {
    "CAP_BPF": ("bpf",),
    "CAP_DAC_READ_SEARCH": ("open_by_handle_at",),
    "CAP_PERFMON": ("perf_event_open",),
    "CAP_SYSLOG": ("syslog",),
    "CAP_SYS_ADMIN": (
        *("bpf", "clone", "clone3", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "mount"),
        *("mount_setattr", "move_mount", "open_tree", "perf_event_open", "quotactl", "quotactl_fd"),
        *("setdomainname", "sethostname", "setns", "syslog", "umount", "umount2", "unshare"),
    ),
    "CAP_SYS_BOOT": ("reboot",),
    "CAP_SYS_CHROOT": ("chroot",),
    "CAP_SYS_MODULE": ("delete_module", "finit_module", "init_module"),
    "CAP_SYS_NICE": ("get_mempolicy", "mbind", "set_mempolicy", "set_mempolicy_home_node"),
    "CAP_SYS_PACCT": ("acct",),
    "CAP_SYS_PTRACE": (*("kcmp", "pidfd_getfd", "process_madvise", "process_vm_readv", "process_vm_writev"),),
    "CAP_SYS_RAWIO": ("ioperm", "iopl"),
    "CAP_SYS_TIME": ("clock_settime", "clock_settime64", "settimeofday", "stime"),
    "CAP_SYS_TTY_CONFIG": ("vhangup",),
}

# By what `uname -m` says: the machine's own kind of program, and that of 32 bits. Each kind makes the start
# of a container five milliseconds longer, so x32, which nobody builds for, is not among them.
_ARCHITECTURES = {
    "x86_64": ("SCMP_ARCH_X86_64", "SCMP_ARCH_X86"),
    "aarch64": ("SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"),
}
# Linux, Linux of 32 bits, each also under the version number that old programs expect; and merely asking.
_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
# CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID and -NET
_NEW_NAMESPACES = 0x7E020000
_ALLOW, _REFUSE = "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"


def default_profile(capabilities: Iterable[str], machine: str) -> Json:
    """For a container that holds these `capabilities`; `machine` is what `uname -m` says."""
    held = sorted(set(capabilities) & BY_CAPABILITY.keys())
    more = sorted({call for capability in held for call in BY_CAPABILITY[capability]})
    profile: Json = {
        "defaultAction": _REFUSE,
        "defaultErrnoRet": errno.EPERM,
        "syscalls": [
            {"names": [*FOR_EVERYONE, *more], "action": _ALLOW},
            *(_allow_if("personality", "SCMP_CMP_EQ", value) for value in _PERSONALITIES),
            *([] if "clone" in more else _clone_without_namespaces()),
        ],
    }
    if machine in _ARCHITECTURES:
        profile["architectures"] = list(_ARCHITECTURES[machine])
    return profile


def _clone_without_namespaces() -> list[Json]:
    """What clone3 asks for lies in memory, where a filter can't look: callers then fall back to clone."""
    allowed = _allow_if("clone", "SCMP_CMP_MASKED_EQ", _NEW_NAMESPACES)
    return [allowed, {"names": ["clone3"], "action": _REFUSE, "errnoRet": errno.ENOSYS}]


def _allow_if(call: str, comparison: str, value: int) -> Json:
    """By the call's first argument: equal to the value, or without any of its bits."""
    return {
        "names": [call],
        "action": _ALLOW,
        "args": [{"index": 0, "value": value, "op": comparison}],
    }
