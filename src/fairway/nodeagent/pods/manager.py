"""All Pods of the node: a worker for each, made, told and dropped as Pods come, change and go."""

from __future__ import annotations

import asyncio

import structlog

from fairway.api.objects import ObjectMeta
from fairway.nodeagent.objects import Pod
from fairway.nodeagent.pods.node_services import NodeServices
from fairway.nodeagent.pods.sandbox import identities
from fairway.nodeagent.pods.worker import PodWorker

log = structlog.get_logger()
_PAUSE_AFTER_FAILURE = 5.0


class PodManager:
    def __init__(self, node: NodeServices) -> None:
        self._node = node
        self._workers: dict[str, PodWorker] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def on_change(self, key: str, old: Pod | None, new: Pod | None) -> None:
        """For an informer. A Pod of the same name but another uid is another Pod."""
        if old and (new is None or new.metadata.uid != old.metadata.uid):
            worker = self._workers.get(old.metadata.uid)
            if worker:
                worker.vanished()
        if new:
            self._wanted(new)

    def _wanted(self, pod: Pod) -> None:
        worker = self._workers.get(pod.metadata.uid)
        if worker:
            worker.update(pod)
        else:
            self._begin(PodWorker(pod, self._node, self._ends))

    def remove_orphans(self) -> None:
        """End what is left here of Pods that no longer exist. Only once all Pods that do are known."""
        for identity in identities(self._node.pods_folder):
            if identity.uid not in self._workers:
                meta = ObjectMeta(name=identity.name, namespace=identity.namespace, uid=identity.uid)
                log.info("removing orphan", pod=meta.key, uid=meta.uid)
                worker = PodWorker(Pod(metadata=meta), self._node)
                worker.vanished()
                self._begin(worker)

    def _begin(self, worker: PodWorker) -> None:
        uid = worker.pod.metadata.uid
        self._workers[uid] = worker
        task = asyncio.create_task(self._work(uid), name=f"pod {worker.pod.metadata.key}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, uid: str) -> None:
        """A worker that fails is replaced by one that starts from what it finds."""
        while True:
            worker = self._workers[uid]
            try:
                await worker.run()
            except Exception:
                log.exception("pod worker failed", pod=worker.pod.metadata.key)
                await asyncio.sleep(_PAUSE_AFTER_FAILURE)
                self._workers[uid] = self._replacement(self._workers[uid])
            else:
                del self._workers[uid]
                return

    def _replacement(self, failed: PodWorker) -> PodWorker:
        worker = PodWorker(failed.pod, self._node, self._ends)
        if failed.is_gone:
            worker.vanished()
        return worker

    def find(self, namespace: str, name: str) -> PodWorker | None:
        """The worker of a Pod by name; of two, the one that is not being ended."""
        found = [
            worker
            for worker in self._workers.values()
            if (worker.pod.metadata.namespace, worker.pod.metadata.name) == (namespace, name)
        ]
        return min(found, key=lambda worker: worker.ending, default=None)

    def _ends(self, uid: str) -> bool:
        """Whether that Pod is on its way out, or gone already."""
        worker = self._workers.get(uid)
        return worker is None or worker.ending

    def workers(self) -> list[PodWorker]:
        return list(self._workers.values())

    async def adopt_running(self) -> None:
        """Let the reaper copy the output of everything that runs; it knows what it has already."""
        for worker in self.workers():
            for name in worker.runs.running():
                run = worker.runs.latest[name]
                await self._node.runtime.reaper.adopt(worker.runs.folder_of(name, run.attempt), run.pid)

    async def stop(self) -> None:
        """Stop looking after Pods; they go on running."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
