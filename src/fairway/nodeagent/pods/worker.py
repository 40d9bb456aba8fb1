"""One Pod's worker: sees what is wanted and what is there, carries out the plan, reports; until the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import structlog

from fairway.nodeagent.network.host_ports import wanted_by
from fairway.nodeagent.network.pod_network import PortTaken
from fairway.nodeagent.objects import Pod
from fairway.nodeagent.pods.container_runs import ContainerRuns
from fairway.nodeagent.pods.model import Observed, Waiting
from fairway.nodeagent.pods.node_services import NodeServices
from fairway.nodeagent.pods.plan import Plan, ReleaseSandbox, SetUpSandbox, Start, Step, Stop, plan
from fairway.nodeagent.pods.pod_report import PodReport
from fairway.nodeagent.pods.rejection import NO_FREE_PORTS, Rejected
from fairway.nodeagent.pods.reporting import delete_until_gone
from fairway.nodeagent.pods.sandbox import Sandbox, SandboxRecord
from fairway.nodeagent.pods.starting import CannotStart, Starter
from fairway.nodeagent.pods.termination import end_containers, grace_seconds, kill_at_deadline, within
from fairway.nodeagent.probes.state import Kind

log = structlog.get_logger()
_DRAIN_SHARE = 0.5
_LAST_WORD_SECONDS = 2.0
_PORT_PAUSE = 0.2


class PodWorker:
    def __init__(self, pod: Pod, node: NodeServices, ends: Callable[[str], bool] = lambda uid: False) -> None:
        """`ends` tells whether the Pod of that uid is on its way out."""
        self._pod = pod
        self._node = node
        self._ends = ends
        self._rejection: Rejected | None = None
        self._gone = False
        self._wake = asyncio.Event()
        self._reports = PodReport(pod, node.api, node.facts.node_ip)
        self._sandbox = Sandbox(node.pods_folder, pod.metadata.uid, node.networks, node.facts)
        self._record: SandboxRecord | None = None
        self._pod_ip = pod.status.pod_ip
        self._trouble: Waiting | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._waiting: dict[str, Waiting] = {}
        self.runs = ContainerRuns(self._sandbox.folder, node.runtime, self._wake.set, self._unhealthy)
        self._starter = Starter(node, self._sandbox, self.runs)

    # -- what others may tell and ask ------------------------------------------------------------------

    @property
    def pod(self) -> Pod:
        return self._pod

    def update(self, pod: Pod) -> None:
        self._pod = pod
        self._told()

    def vanished(self) -> None:
        """The object is gone without having waited for us."""
        self._gone = True
        self._told()

    def _told(self) -> None:
        if self.ending:
            self.runs.abandon()
        self._wake.set()

    @property
    def is_gone(self) -> bool:
        return self._gone

    @property
    def ending(self) -> bool:
        return self._gone or self._pod.metadata.deletion_timestamp is not None

    @property
    def namespace_path(self) -> str | None:
        """Of the Pod's network: empty for the node's own, None while there is none."""
        return self._record.namespace_path if self._record else None

    def observed(self) -> Observed:
        return Observed(
            pod_ip=self._record.pod_ip if self._record else self._pod_ip,
            sandbox_ready=self._record is not None,
            sandbox_trouble=self._trouble,
            runs=self.runs.latest,
            earlier=self.runs.earlier,
            waiting=self._waiting,
            health=self.runs.health(),
        )

    # -- the loop --------------------------------------------------------------------------------------

    async def run(self) -> None:
        reporting = asyncio.create_task(self._reports.run())
        try:
            await self._restore()
            while not self.ending:
                await self._turn()
            await self._end()
        finally:
            reporting.cancel()
            if self._refreshing:
                self._refreshing.cancel()
            await self.runs.forget()

    async def _restore(self) -> None:
        self._record = await asyncio.to_thread(self._sandbox.restore)
        await self.runs.restore(self._pod, self._record.pod_ip if self._record else "")
        if self._record:
            self._keep_volumes_fresh(self._record)
        else:
            # Where the network is gone from under running containers, they can only start over.
            for name in self.runs.running():
                await self.runs.kill(name)

    async def _turn(self) -> None:
        self._wake.clear()
        planned = (
            Plan()
            if self._over_before_us() or self._rejection
            else plan(self._pod, self.observed(), time.time())
        )
        for step in planned.steps:
            await self._apply(step)
        self._report()
        if planned.steps:
            return
        pause = None if planned.wake_at is None else max(0.0, planned.wake_at - time.time())
        try:
            async with asyncio.timeout(pause):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _over_before_us(self) -> bool:
        """A Pod that has ended, of which nothing is left here: it must not be run again."""
        return self._pod.status.phase in ("Succeeded", "Failed") and not self.runs.latest

    def _report(self) -> None:
        if not self._gone and not self._over_before_us():
            self._reports.write(self._pod, self.observed(), self._rejection)

    # -- steps -----------------------------------------------------------------------------------------

    async def _apply(self, step: Step) -> None:
        match step:
            case SetUpSandbox():
                await self._set_up_sandbox()
            case Start():
                await self._start(step)
            case Stop():
                self._event("Killing", f"{step.why}, will be restarted")
                await self.runs.stop(step.container, step.grace_seconds)
            case ReleaseSandbox():
                # The address stays in the status, as Kubernetes has it, though another Pod may get it now.
                self._pod_ip = self._record.pod_ip if self._record else self._pod_ip
                if self._refreshing:
                    self._refreshing.cancel()
                await self._starter.end_shared_processes()
                await asyncio.to_thread(self._sandbox.release_network)
                await self._publish_ports()
                self._record = None

    async def _set_up_sandbox(self) -> None:
        try:
            self._record = await self._starter.set_up_sandbox(self._pod)
            await self._publish_ports()
            self._trouble = None
        except PortTaken as error:
            self._port_taken(error)
        except CannotStart as error:
            before, self._trouble = (
                self._trouble,
                error.waiting(self._trouble.failures if self._trouble else 0),
            )
            if before is None or before.message != str(error):
                self._event("FailedCreatePodSandBox", str(error), warning=True)
        else:
            self._keep_volumes_fresh(self._record)

    def _port_taken(self, error: PortTaken) -> None:
        """A Pod that is ending makes room in a moment; from any other we would wait in vain."""
        if self._ends(error.owner):
            self._trouble = Waiting("ContainerCreating", str(error), time.time() + _PORT_PAUSE, 1)
        else:
            self._rejection = Rejected("NodePorts", NO_FREE_PORTS)
            self._event("NodePorts", NO_FREE_PORTS, warning=True)

    async def _publish_ports(self) -> None:
        """Until the node's ports lead to the Pod, or don't any more."""
        if wanted_by(self._pod):
            await self._node.publish_ports()

    def _keep_volumes_fresh(self, record: SandboxRecord) -> None:
        self._refreshing = asyncio.create_task(self._starter.keep_volumes_fresh(self._pod, record))

    async def _start(self, step: Start) -> None:
        container = self._pod.container(step.container)
        assert container is not None
        assert self._record is not None
        try:
            run = await self._starter.start(self._pod, container, step, self._record)
        except CannotStart as error:
            self._wait(step.container, error)
            return
        self._waiting.pop(step.container, None)
        if run.reason == "PostStartHookError":
            self._event("FailedPostStartHook", f"PostStartHook failed: {run.message}", warning=True)
        elif run.started_at:
            self._event("Started", f"Started container {container.name}")
        else:
            self._event("Failed", f"Error: {run.message}", warning=True)

    def _wait(self, container: str, error: CannotStart) -> None:
        """A missing image is an error the first time, and backing off from then on."""
        before = self._waiting.get(container)
        waiting = error.waiting(before.failures if before else 0)
        if before and error.reason == "ErrImagePull":
            waiting = replace(waiting, reason="ImagePullBackOff", message=f"Back-off pulling image: {error}")
        if before is None or before.message != waiting.message:
            self._event("Failed", f"Error: {waiting.reason}: {waiting.message}", warning=True)
        self._waiting[container] = waiting

    def _unhealthy(self, kind: Kind, complaint: str) -> None:
        self._event("Unhealthy", f"{kind.value} probe failed: {complaint}", warning=True)

    def _event(self, reason: str, message: str, warning: bool = False) -> None:
        self._node.event(self._pod, reason, message, "Warning" if warning else "Normal")

    # -- the end ---------------------------------------------------------------------------------------

    async def _end(self) -> None:
        deadline = asyncio.create_task(kill_at_deadline(self.runs, self._grace, self._wake))
        try:
            if self.runs.running():
                await self._end_containers()
        finally:
            deadline.cancel()
        self._report()
        if not self._gone:
            await within(_LAST_WORD_SECONDS, self._reports.flushed())
        await self._starter.end_shared_processes()
        await asyncio.to_thread(self._sandbox.tear_down)
        await self._node.publish_ports()
        if not self._gone:
            await delete_until_gone(self._node.api, self._pod)
        log.info("pod ended", pod=self._pod.metadata.key, uid=self._pod.metadata.uid)

    async def _end_containers(self) -> None:
        for name in self.runs.running():
            self._event("Killing", f"Stopping container {name}")
        if not self._gone:
            await within(self._grace() * _DRAIN_SHARE, self._node.drain.wait(self._pod))
        pod_ip = self._record.pod_ip if self._record else ""
        await end_containers(self._pod, self.runs, self._node.runtime, pod_ip)

    def _grace(self) -> float:
        return grace_seconds(self._pod, self._gone)
