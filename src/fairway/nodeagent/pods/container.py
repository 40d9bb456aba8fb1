"""From a Pod's container, its image and its resolved environment to what the runtime is told. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fairway.api.schema import quantity
from fairway.images.model import ImageConfig
from fairway.nodeagent.objects import Container, Pod, SeccompProfile
from fairway.nodeagent.pods.downward import ConfigError
from fairway.nodeagent.pods.expansion import expand_all
from fairway.nodeagent.runtime import capabilities, seccomp
from fairway.nodeagent.runtime.spec import Bind, ContainerSpec, Limits, User

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a container is put: everything about it that the Pod doesn't say."""

    rootfs: str
    cgroup: str
    network_namespace: str
    binds: tuple[Bind, ...]
    image_user: User
    available_capabilities: frozenset[str]
    rootless: bool = False
    pid_namespace: str = ""
    # What `uname -m` says.
    machine: str = ""
    # The profile that a container asks for by its file on the node.
    local_profile: dict[str, Any] | None = None


def container_spec(
    pod: Pod, container: Container, image: ImageConfig, env: Mapping[str, str], around: Surroundings
) -> ContainerSpec:
    security = container.security_context
    caps = security.capabilities
    granted = capabilities.granted(
        (caps.add if caps else None) or (),
        (caps.drop if caps else None) or (),
        security.privileged,
        around.available_capabilities,
    )
    return ContainerSpec(
        args=command_line(container, image, env),
        env=tuple(environment(pod, container, image, env).items()),
        rootfs=around.rootfs,
        cgroup=around.cgroup,
        hostname="" if pod.spec.host_network else pod.hostname,
        working_dir=container.working_dir or image.working_dir or "/",
        user=user(pod, container, around.image_user),
        capabilities=granted,
        seccomp=_seccomp(pod, container, granted, around),
        network_namespace=around.network_namespace,
        binds=around.binds,
        limits=limits(container),
        sysctls=tuple((s.name, s.value) for s in pod.spec.security_context.sysctls or ()),
        privileged=security.privileged,
        no_new_privileges=security.allow_privilege_escalation is False,
        read_only_root=security.read_only_root_filesystem,
        host_pid=pod.spec.host_pid,
        pid_namespace=around.pid_namespace,
        host_ipc=pod.spec.host_ipc,
        tty=container.tty,
        rootless=around.rootless,
        stdin=("once" if container.stdin_once else "open") if container.stdin else "",
    )


def seccomp_profile(pod: Pod, container: Container) -> SeccompProfile:
    """The container's wish, else the Pod's, else the default, which privileged containers are spared."""
    wish = container.security_context.seccomp_profile or pod.spec.security_context.seccomp_profile
    if container.security_context.privileged:
        return SeccompProfile("Unconfined")
    return wish or SeccompProfile("RuntimeDefault")


def _seccomp(
    pod: Pod, container: Container, granted: Iterable[str], around: Surroundings
) -> dict[str, Any] | None:
    match seccomp_profile(pod, container).type:
        case "Unconfined":
            return None
        case "Localhost":
            return around.local_profile
        case _:
            return seccomp.default_profile(granted, around.machine)


def command_line(container: Container, image: ImageConfig, env: Mapping[str, str]) -> tuple[str, ...]:
    """`command` replaces the image's entrypoint and its arguments; `args` only the arguments."""
    command = expand_all(container.command or (), env)
    args = expand_all(container.args or (), env)
    if not command:
        command = tuple(image.entrypoint or ())
        args = args or tuple(image.cmd or ())
    if not command + args:
        raise ConfigError("no command specified: neither the Pod nor the image has one")
    return command + args


def environment(pod: Pod, container: Container, image: ImageConfig, env: Mapping[str, str]) -> dict[str, str]:
    defaults = {"PATH": DEFAULT_PATH}
    if container.tty:
        defaults["TERM"] = "xterm"
    if not pod.spec.host_network:
        defaults["HOSTNAME"] = pod.hostname
    from_image = dict(entry.split("=", 1) for entry in image.env or () if "=" in entry)
    return {**defaults, **from_image, **env}


def user(pod: Pod, container: Container, image_user: User) -> User:
    """The container's wish, else the Pod's, else the image's."""
    own, shared = container.security_context, pod.spec.security_context
    uid = next((value for value in (own.run_as_user, shared.run_as_user) if value is not None), None)
    gid = next((value for value in (own.run_as_group, shared.run_as_group) if value is not None), None)
    groups = (*image_user.groups, *(shared.supplemental_groups or ()))
    if shared.fs_group is not None:
        groups = (*groups, shared.fs_group)
    chosen_gid = gid if gid is not None else (image_user.gid if uid is None else 0)
    result = User(image_user.uid if uid is None else uid, chosen_gid, tuple(dict.fromkeys(groups)))
    must_not_be_root = own.run_as_non_root if own.run_as_non_root is not None else shared.run_as_non_root
    if must_not_be_root and result.uid == 0:
        raise ConfigError("container has runAsNonRoot and image will run as root")
    return result


def limits(container: Container) -> Limits:
    stated = container.resources.limits or {}
    requested = {**stated, **(container.resources.requests or {})}
    cpu_request = quantity.whole(requested["cpu"], "1m") if "cpu" in requested else 0
    return Limits(
        memory_bytes=quantity.whole(stated["memory"]) if "memory" in stated else 0,
        cpu_millis=quantity.whole(stated["cpu"], "1m") if "cpu" in stated else 0,
        cpu_shares=max(2, cpu_request * 1024 // 1000) if cpu_request else 0,
    )


def image_user(text: str, passwd: str, group: str) -> User:
    """An image's `User`: `uid`, `name`, `uid:gid`, `name:group`, looked up in the image's own files."""
    name, _, group_name = text.partition(":")
    uid, gid = 0, 0
    groups: tuple[int, ...] = ()
    if name:
        entry = _entry(passwd, name)
        if entry is None and not name.isdecimal():
            raise ConfigError(f"unable to find user {name}: no matching entries in passwd file")
        uid, gid = (int(entry[2]), int(entry[3])) if entry else (int(name), 0)
        groups = _memberships(group, entry[0]) if entry else ()
    if group_name:
        entry = _entry(group, group_name)
        if entry is None and not group_name.isdecimal():
            raise ConfigError(f"unable to find group {group_name}: no matching entries in group file")
        gid, groups = (int(entry[2]) if entry else int(group_name)), ()
    return User(uid, gid, groups)


def _entry(file: str, name: str) -> list[str] | None:
    """The line whose name or number is `name`."""
    entries = [line.split(":") for line in file.splitlines()]
    return next((e for e in entries if len(e) > 3 and name in (e[0], e[2])), None)


def _memberships(group_file: str, name: str) -> tuple[int, ...]:
    entries = [line.split(":") for line in group_file.splitlines()]
    return tuple(int(e[2]) for e in entries if len(e) > 3 and name in e[3].split(","))
