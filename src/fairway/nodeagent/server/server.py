"""The agent's paths, as kubelet has them: /exec, /attach, /portForward, /containerLogs, /healthz.

Only the API server may call.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import msgspec

from fairway.api.errors import StatusError, bad_request
from fairway.httpserver import HttpServer, Request, Response, Stream
from fairway.httpserver.messages import Answer
from fairway.nodeagent.config import Config
from fairway.nodeagent.pods.manager import PodManager
from fairway.nodeagent.pods.model import Run
from fairway.nodeagent.pods.worker import PodWorker
from fairway.nodeagent.runtime.containers import ContainerRuntime
from fairway.nodeagent.runtime.logs import LogOptions, log_time, read
from fairway.nodeagent.server import attach as attach_session
from fairway.nodeagent.server import exec as exec_session
from fairway.nodeagent.server import handshake, port_forward
from fairway.nodeagent.server.attach import AttachRequest
from fairway.nodeagent.server.conversation import Streams
from fairway.nodeagent.server.exec import ExecRequest


class AgentServer:
    def __init__(self, config: Config, pods: PodManager, runtime: ContainerRuntime) -> None:
        self._config = config
        self._pods = pods
        self._runtime = runtime
        self._server = HttpServer(self.handle, tls=_tls(config))

    async def start(self) -> int:
        return await self._server.listen(self._config.node_ip, self._config.port)

    async def stop(self) -> None:
        await self._server.stop(patience=1.0)

    async def handle(self, request: Request) -> Answer:
        try:
            return await self._route(request)
        except StatusError as error:
            return Response(error.code, msgspec.json.encode(error.body()))

    async def _route(self, request: Request) -> Answer:
        match request.path.strip("/").split("/"):
            case ["healthz"]:
                return Response(200, b"ok", "text/plain")
            case ["exec", namespace, pod, container]:
                return self._exec(request, namespace, pod, container)
            case ["attach", namespace, pod, container]:
                return self._attach(request, namespace, pod, container)
            case ["portForward", namespace, pod]:
                return self._port_forward(request, namespace, pod)
            case ["containerLogs", namespace, pod, container]:
                return self._logs(request, namespace, pod, container)
        raise StatusError(404, "NotFound", f"the node agent has no {request.path}")

    # -- streams -----------------------------------------------------------------------------------------

    def _exec(self, request: Request, namespace: str, pod: str, container: str) -> Answer:
        run = self._running(self._worker(namespace, pod), container)
        wanted = exec_request(run.id, request)
        return handshake.conversation(
            request, lambda talk: exec_session.serve(talk, self._runtime.runc, wanted)
        )

    def _attach(self, request: Request, namespace: str, pod: str, container: str) -> Answer:
        worker = self._worker(namespace, pod)
        run, spec = self._running(worker, container), worker.pod.container(container)
        assert spec is not None
        wanted = AttachRequest(spec, worker.runs.folder_of(container, run.attempt), streams_of(request))
        return handshake.conversation(
            request, lambda talk: attach_session.serve(talk, self._runtime.reaper, wanted)
        )

    def _port_forward(self, request: Request, namespace: str, pod: str) -> Answer:
        inside = self._worker(namespace, pod).namespace_path
        if inside is None:
            raise bad_request(f'pod "{namespace}/{pod}" is not running')
        return port_forward.upgrade(
            request, f"{namespace}/{pod}", lambda port: port_forward.connect_inside(inside, port)
        )

    def _running(self, worker: PodWorker, container: str) -> Run:
        run = worker.runs.latest.get(container)
        if run is None or not run.running:
            pod = worker.pod.metadata.key
            raise bad_request(f'container "{container}" of pod "{pod}" is not running')
        return run

    # -- logs --------------------------------------------------------------------------------------------

    def _logs(self, request: Request, namespace: str, pod: str, container: str) -> Answer:
        worker = self._worker(namespace, pod)
        query = request.query()
        run = _chosen_run(worker, container, _is_true(query.get("previous")))
        folder = worker.runs.folder_of(container, run.attempt)

        def ended() -> bool:
            latest = worker.runs.latest.get(container)
            return latest is None or latest.id != run.id or not latest.running

        return Stream(_nonempty(read(folder, log_options(query), ended)), content_type="text/plain")

    def _worker(self, namespace: str, pod: str) -> PodWorker:
        worker = self._pods.find(namespace, pod)
        if worker is None:
            raise StatusError(404, "NotFound", f'pod "{pod}" does not exist')
        return worker


def exec_request(container_id: str, request: Request) -> ExecRequest:
    command = tuple(value for name, value in request.query_pairs() if name == "command")
    if not command:
        raise bad_request("you must specify at least 1 command for the container")
    return ExecRequest(container_id, command, streams_of(request))


def streams_of(request: Request) -> Streams:
    """Both ways of naming them: the API's (`stdin`) and kubelet's (`input`)."""
    query = request.query()
    tty = _is_true(query.get("tty"))
    return Streams(
        stdin=_is_true(query.get("stdin")) or _is_true(query.get("input")),
        stdout=_is_true(query.get("stdout")) or _is_true(query.get("output")),
        stderr=not tty and (_is_true(query.get("stderr")) or _is_true(query.get("error"))),
        tty=tty,
    )


def log_options(query: dict[str, str]) -> LogOptions:
    try:
        tail, limit = query.get("tailLines"), query.get("limitBytes")
        return LogOptions(
            follow=_is_true(query.get("follow")),
            tail_lines=int(tail) if tail else None,
            since=_since(query),
            timestamps=_is_true(query.get("timestamps")),
            limit_bytes=int(limit) if limit else None,
        )
    except ValueError as error:
        raise bad_request(f"bad log options: {error}") from error


def _since(query: dict[str, str]) -> str:
    if seconds := query.get("sinceSeconds"):
        return log_time(datetime.now(UTC) - timedelta(seconds=int(seconds)))
    moment = query.get("sinceTime")
    return log_time(datetime.fromisoformat(moment)) if moment else ""


def _chosen_run(worker: PodWorker, container: str, previous: bool) -> Run:
    pod = worker.pod.metadata.name
    if worker.pod.container(container) is None:
        raise bad_request(f"container {container} is not valid for pod {pod}")
    runs = worker.runs.earlier if previous else worker.runs.latest
    if run := runs.get(container):
        return run
    if previous:
        raise bad_request(f'previous terminated container "{container}" in pod "{pod}" not found')
    raise bad_request(f'container "{container}" in pod "{pod}" is waiting to start: ContainerCreating')


async def _nonempty(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        if chunk:
            yield chunk


def _is_true(value: str | None) -> bool:
    return value in ("1", "t", "T", "true", "True", "TRUE")


def _tls(config: Config) -> ssl.SSLContext:
    """Only clients with a certificate of our own authority get as far as a request."""
    assert config.tls_certificate
    assert config.tls_key
    assert config.client_ca
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=config.client_ca)
    context.load_cert_chain(config.tls_certificate, config.tls_key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context
