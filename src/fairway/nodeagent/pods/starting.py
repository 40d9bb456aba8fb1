"""Getting a Pod's sandbox and its containers started: everything is looked up, rendered, and handed on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import structlog

from fairway.client import ApiError
from fairway.images.model import Image
from fairway.images.resolve import InvalidImageName, MissingImage
from fairway.images.store import ImageError
from fairway.images.untar import read_in_root
from fairway.kernel.netlink import NetlinkError
from fairway.kernel.processes import group_exists
from fairway.nodeagent.network.ipam import NoAddressLeft
from fairway.nodeagent.objects import Container, Pod
from fairway.nodeagent.pods.container import Surroundings, container_spec, image_user
from fairway.nodeagent.pods.container_runs import ContainerRuns, container_id
from fairway.nodeagent.pods.downward import ConfigError, Facts
from fairway.nodeagent.pods.environment import container_environment, service_environment
from fairway.nodeagent.pods.model import Run, Waiting
from fairway.nodeagent.pods.node_services import NodeServices
from fairway.nodeagent.pods.plan import Start
from fairway.nodeagent.pods.sandbox import Sandbox, SandboxRecord
from fairway.nodeagent.pods.volumes import VolumeFile, container_binds, refresh_seconds, volume_files
from fairway.nodeagent.runtime.records import Record
from fairway.nodeagent.runtime.spec import User

log = structlog.get_logger()
TERMINAL_GROUP = 5
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
        self._environments: dict[str, dict[str, str]] = {}

    def _facts(self, pod_ip: str) -> Facts:
        return Facts(pod_ip, self._node.facts.node_ip, self._node.node_name, self._node.node_capacity)

    async def set_up_sandbox(self, pod: Pod) -> SandboxRecord:
        try:
            record = await asyncio.to_thread(self._sandbox.set_up, pod)
            filled = await self._filled(pod, record)
            await asyncio.to_thread(self._sandbox.complete, pod, filled, record)
        except (ConfigError, NoAddressLeft, NetlinkError, ApiError, OSError) as error:
            raise CannotStart("ContainerCreating", str(error)) from error
        return record

    async def keep_volumes_fresh(self, pod: Pod, record: SandboxRecord) -> None:
        """For as long as the Pod has its sandbox."""
        seconds = refresh_seconds(pod)
        while seconds is not None:
            due = self._sandbox.filled_at() + seconds
            await asyncio.sleep(max(_LONGEST_PAUSE, due - time.time()))
            try:
                filled = await self._filled(pod, record)
                await asyncio.to_thread(self._sandbox.refill, pod, filled)
            except (ConfigError, ApiError, OSError) as error:
                log.warning("volumes not refreshed", pod=pod.metadata.key, error=str(error))

    async def _filled(self, pod: Pod, record: SandboxRecord) -> dict[str, list[VolumeFile]]:
        """The files of every volume that we fill."""
        references = await self._node.sources.references(pod)
        tokens = await self._node.sources.tokens(pod)
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
