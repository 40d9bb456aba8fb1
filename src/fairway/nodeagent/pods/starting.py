"""Getting a Pod's sandbox and its containers started: everything is looked up, rendered, and handed on."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import structlog

from fairway.client import ApiError
from fairway.images.model import Image
from fairway.images.resolve import InvalidImageName, MissingImage
from fairway.images.store import ImageError
from fairway.images.untar import read_in_root
from fairway.kernel.netlink import NetlinkError
from fairway.kernel.processes import group_exists
from fairway.nodeagent.network.cni import CniError
from fairway.nodeagent.network.ipam import NoAddressLeft
from fairway.nodeagent.objects import Container, Pod, TokenSource
from fairway.nodeagent.pods.container import Surroundings, container_spec, image_user, seccomp_profile
from fairway.nodeagent.pods.container_runs import ContainerRuns, container_id
from fairway.nodeagent.pods.downward import ConfigError, Facts
from fairway.nodeagent.pods.environment import References, container_environment, service_environment
from fairway.nodeagent.pods.model import Run, Waiting
from fairway.nodeagent.pods.node_services import NodeServices
from fairway.nodeagent.pods.plan import Start
from fairway.nodeagent.pods.sandbox import Sandbox, SandboxRecord
from fairway.nodeagent.pods.shared_processes import CannotHold, SharedProcesses
from fairway.nodeagent.pods.volumes import VolumeFile, container_binds, refresh_seconds, volume_files
from fairway.nodeagent.runtime.records import Record
from fairway.nodeagent.runtime.spec import TERMINAL_GROUP, User

log = structlog.get_logger()
Tokens = dict[TokenSource, str]
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0


class CannotStart(Exception):
    """Not now; the reason is one of those that Kubernetes shows."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    def waiting(self, failures: int) -> Waiting:
        """Tried again soon at first, as what is missing is often just being made; then less often."""
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(failures, 16))
        return Waiting(self.reason, str(self), time.time() + pause, failures + 1)


class Starter:
    """For one Pod."""

    def __init__(self, node: NodeServices, sandbox: Sandbox, runs: ContainerRuns) -> None:
        self._node = node
        self._sandbox = sandbox
        self._runs = runs
        self._processes = SharedProcesses(node, sandbox.folder, sandbox.uid)
        self._environments: dict[str, dict[str, str]] = {}

    def _facts(self, pod_ip: str) -> Facts:
        return Facts(pod_ip, self._node.facts.node_ip, self._node.node_name, self._node.node_capacity)

    async def set_up_sandbox(self, pod: Pod) -> SandboxRecord:
        try:
            fetching = asyncio.create_task(self._fetched(pod))
            try:
                record = await asyncio.to_thread(self._sandbox.set_up, pod)
                filled = self._filled(pod, record, *await fetching)
            finally:
                fetching.cancel()
                await asyncio.gather(fetching, return_exceptions=True)
            await asyncio.to_thread(self._sandbox.complete, pod, filled, record)
        except (ConfigError, NoAddressLeft, NetlinkError, CniError, ApiError, OSError) as error:
            raise CannotStart("ContainerCreating", str(error)) from error
        return record

    async def keep_volumes_fresh(self, pod: Pod, record: SandboxRecord) -> None:
        """For as long as the Pod has its sandbox."""
        seconds = refresh_seconds(pod)
        while seconds is not None:
            due = self._sandbox.filled_at() + seconds
            await asyncio.sleep(max(_LONGEST_PAUSE, due - time.time()))
            try:
                filled = self._filled(pod, record, *await self._fetched(pod))
                await asyncio.to_thread(self._sandbox.refill, pod, filled)
            except (ConfigError, ApiError, OSError) as error:
                log.warning("volumes not refreshed", pod=pod.metadata.key, error=str(error))

    async def _fetched(self, pod: Pod) -> tuple[References, Tokens]:
        """What volumes are filled from, as far as others know it."""
        sources = self._node.sources
        return await sources.references(pod), await sources.tokens(pod)

    def _filled(
        self, pod: Pod, record: SandboxRecord, references: References, tokens: Tokens
    ) -> dict[str, list[VolumeFile]]:
        """The files of every volume that we fill."""
        facts = self._facts(record.pod_ip)
        filled = {
            volume.name: volume_files(pod, volume, references, facts, tokens)
            for volume in pod.spec.volumes or ()
        }
        return {name: files for name, files in filled.items() if files is not None}

    async def start(self, pod: Pod, container: Container, step: Start, sandbox: SandboxRecord) -> Run:
        image = await self._image(container)
        env = await self._environment(pod, container, sandbox)
        folder = await asyncio.to_thread(self._runs.new_folder, container.name, step.attempt)
        identity = container_id(pod.metadata.uid, container.name, step.attempt)
        await self._hold(image, identity, folder)
        try:
            around = Surroundings(
                rootfs=str(folder / "rootfs"),
                cgroup=f"{self._node.cgroup}/{identity}",
                network_namespace=sandbox.namespace_path,
                binds=container_binds(pod, container, self._sandbox.folder, folder, env),
                image_user=await asyncio.to_thread(_user_of, image),
                available_capabilities=self._node.capabilities,
                rootless=not group_exists(TERMINAL_GROUP),
                pid_namespace=await self._pid_namespace(pod, sandbox),
                machine=os.uname().machine,
                local_profile=await asyncio.to_thread(self._local_profile, pod, container),
            )
            spec = container_spec(pod, container, image.config, env, around)
        except (ConfigError, ValueError) as error:
            raise CannotStart("CreateContainerConfigError", str(error)) from error
        record = Record(
            id=identity,
            attempt=step.attempt,
            image=container.image,
            image_id=image.digest,
            crashes=step.crashes,
            created_at=time.time(),
            stop_signal=image.config.stop_signal,
            message_from_log=container.termination_message_policy == "FallbackToLogsOnError",
            cgroup=around.cgroup,
        )
        return await self._runs.start(pod, container.name, record, spec, image, sandbox.pod_ip)

    async def _pid_namespace(self, pod: Pod, sandbox: SandboxRecord) -> str:
        if not pod.spec.share_process_namespace:
            return ""
        try:
            return await self._processes.namespace(sandbox.namespace_path)
        except CannotHold as error:
            raise CannotStart("CreateContainerError", str(error)) from error

    async def end_shared_processes(self) -> None:
        """What the Pod's containers have in common goes after them."""
        await self._processes.end()

    def _local_profile(self, pod: Pod, container: Container) -> dict[str, Any] | None:
        """The file that a container names below the node's folder for them, in the form the OCI gives it."""
        wish = seccomp_profile(pod, container)
        if wish.type != "Localhost":
            return None
        try:
            content = read_in_root(self._node.seccomp_folder, wish.localhost_profile)
            return msgspec.json.decode(content, type=dict[str, Any])
        except (OSError, msgspec.MsgspecError) as error:
            message = f"cannot load seccomp profile {wish.localhost_profile!r}: {error}"
            raise ConfigError(message) from error

    async def _image(self, container: Container) -> Image:
        try:
            return await asyncio.to_thread(self._node.images.resolve, container.image)
        except InvalidImageName as error:
            raise CannotStart("InvalidImageName", str(error)) from error
        except MissingImage as error:
            never = container.image_pull_policy == "Never"
            raise CannotStart("ErrImageNeverPull" if never else "ErrImagePull", str(error)) from error
        except (ImageError, OSError) as error:
            raise CannotStart("ErrImagePull", str(error)) from error

    async def _hold(self, image: Image, owner: str, folder: Path) -> None:
        try:
            await asyncio.to_thread(self._node.images.hold, image, owner, folder)
        except (ImageError, OSError) as error:
            raise CannotStart("ErrImagePull", str(error)) from error

    async def _environment(self, pod: Pod, container: Container, sandbox: SandboxRecord) -> dict[str, str]:
        """Read anew for each start. Without an API server a restart uses what the last one had."""
        try:
            services = await self._node.sources.services(pod.metadata.namespace)
            references = await self._node.sources.references(pod)
        except ApiError as error:
            if container.name in self._environments:
                return self._environments[container.name]
            raise CannotStart("ContainerCreating", f"the API server can't be asked: {error}") from error
        links = service_environment(services, pod.metadata.namespace, pod.spec.enable_service_links)
        try:
            env = container_environment(pod, container, self._facts(sandbox.pod_ip), references, links)
        except ConfigError as error:
            raise CannotStart("CreateContainerConfigError", str(error)) from error
        self._environments[container.name] = env
        return env


def _user_of(image: Image) -> User:
    if not image.config.user:
        return User()
    files = []
    for path in ("/etc/passwd", "/etc/group"):
        try:
            files.append(read_in_root(image.rootfs, path).decode("utf-8", "replace"))
        except OSError:
            files.append("")
    return image_user(image.config.user, *files)
