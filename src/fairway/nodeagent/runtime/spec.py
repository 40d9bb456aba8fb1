"""A container's OCI configuration (`config.json`), rendered from resolved values. Pure.

What Pods mean is resolved before (`pods/`); what runc does with the result comes after (`containers`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

_MASKED = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_CPU_PERIOD = 100_000
TERMINAL_GROUP = 5


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or folder of the host, seen inside."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class User:
    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Zero means no limit; `cpu_shares` 0 leaves the kernel's default."""

    memory_bytes: int = 0
    cpu_millis: int = 0
    cpu_shares: int = 0


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    rootfs: str
    cgroup: str
    hostname: str = ""
    working_dir: str = "/"
    user: User = field(default_factory=User)
    capabilities: tuple[str, ...] = ()
    network_namespace: str = ""
    binds: tuple[Bind, ...] = ()
    limits: Limits = field(default_factory=Limits)
    sysctls: tuple[tuple[str, str], ...] = ()
    privileged: bool = False
    no_new_privileges: bool = False
    read_only_root: bool = False
    host_pid: bool = False
    # That of another process, by its path; empty for one of its own.
    pid_namespace: str = ""
    # Which system calls it may make; None for all.
    seccomp: Json | None = None
    host_ipc: bool = False
    tty: bool = False
    # In a user's own namespaces most users and groups, that of terminals too, don't exist.
    rootless: bool = False
    # Empty for none; `once` if it ends with whoever attaches first, `open` if it never does.
    stdin: str = ""


def render(spec: ContainerSpec) -> Json:
    config: Json = {
        "ociVersion": "1.0.2",
        "process": _process(spec),
        "root": {"path": spec.rootfs, "readonly": spec.read_only_root},
        "mounts": [*_system_mounts(spec), *(_bind(bind) for bind in spec.binds)],
        "linux": _linux(spec),
    }
    if spec.hostname:
        config["hostname"] = spec.hostname
    return config


def _process(spec: ContainerSpec) -> Json:
    capabilities = list(spec.capabilities)
    return {
        "user": {"uid": spec.user.uid, "gid": spec.user.gid, "additionalGids": list(spec.user.groups)},
        "terminal": spec.tty,
        "args": list(spec.args),
        "env": [f"{name}={value}" for name, value in spec.env],
        "cwd": spec.working_dir or "/",
        # Neither inheritable nor ambient: a process of another user than root must not gain any.
        "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), capabilities),
        "noNewPrivileges": spec.no_new_privileges,
    }


def _system_mounts(spec: ContainerSpec) -> list[Json]:
    sys_mode = "rw" if spec.privileged else "ro"
    group = "" if spec.rootless else f",gid={TERMINAL_GROUP}"
    mounts = [
        _mount("/proc", "proc", "nosuid,noexec,nodev"),
        _mount("/dev", "tmpfs", "nosuid,strictatime,mode=755,size=65536k"),
        _mount("/dev/pts", "devpts", f"nosuid,noexec,newinstance,ptmxmode=0666,mode=0620{group}"),
        _mount("/sys", "sysfs", f"nosuid,noexec,nodev,{sys_mode}"),
    ]
    if spec.host_ipc:
        return [*mounts, _bind(Bind("/dev/shm", "/dev/shm"))]
    mounts.append(_mount("/dev/mqueue", "mqueue", "nosuid,noexec,nodev"))
    return [*mounts, _mount("/dev/shm", "tmpfs", "nosuid,noexec,nodev,mode=1777,size=65536k")]


def _mount(target: str, kind: str, options: str) -> Json:
    return {"destination": target, "type": kind, "source": kind, "options": options.split(",")}


def _bind(bind: Bind) -> Json:
    options = ["rbind", "rprivate", "ro" if bind.read_only else "rw"]
    return {"destination": bind.target, "type": "bind", "source": bind.source, "options": options}


def _linux(spec: ContainerSpec) -> Json:
    linux: Json = {"namespaces": _namespaces(spec), "sysctl": dict(spec.sysctls)}
    if not spec.rootless:
        # Users may not make control groups of their own, unless somebody lets them.
        linux |= {"cgroupsPath": spec.cgroup, "resources": _resources(spec)}
    if not spec.privileged:
        linux |= {"maskedPaths": list(_MASKED), "readonlyPaths": list(_READ_ONLY)}
    if spec.seccomp is not None:
        linux["seccomp"] = spec.seccomp
    return linux


def _namespaces(spec: ContainerSpec) -> list[Json]:
    """Without a network namespace of its own a container shares the node's, and so does its hostname."""
    namespaces: list[Json] = [{"type": "mount"}]
    if spec.pid_namespace:
        namespaces.append({"type": "pid", "path": spec.pid_namespace})
    elif not spec.host_pid:
        namespaces.append({"type": "pid"})
    if not spec.host_ipc:
        namespaces.append({"type": "ipc"})
    if spec.hostname:
        namespaces.append({"type": "uts"})
    if spec.network_namespace:
        namespaces.append({"type": "network", "path": spec.network_namespace})
    return namespaces


def _resources(spec: ContainerSpec) -> Json:
    resources: Json = {"devices": [{"allow": spec.privileged, "access": "rwm"}]}
    limits = spec.limits
    if limits.memory_bytes:
        resources["memory"] = {"limit": limits.memory_bytes}
    cpu: Json = {}
    if limits.cpu_shares:
        cpu["shares"] = limits.cpu_shares
    if limits.cpu_millis:
        cpu |= {"period": _CPU_PERIOD, "quota": max(1000, limits.cpu_millis * _CPU_PERIOD // 1000)}
    if cpu:
        resources["cpu"] = cpu
    return resources
