"""Health and metrics of the controller, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from fairway.httpserver import HttpServer, Request, Response
from fairway.ingress.config import Config
from fairway.ingress.control import Control, ControlError
from fairway.ingress.nginx import Nginx
from fairway.ingress.table import Table

_BOUNDS = ("0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10")
_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class StatusServer:
    def __init__(self, config: Config, control: Control, table: Table, nginx: Nginx) -> None:
        self._config, self._control, self._table, self._nginx = config, control, table, nginx

    async def run(self) -> None:
        server = HttpServer(self._answer)
        await server.listen("127.0.0.1", self._config.status_port)
        try:
            await asyncio.Event().wait()
        finally:
            await server.stop(0)

    async def _answer(self, request: Request) -> Response:
        try:
            if request.path in ("/healthz", "/readyz", "/livez"):
                await self._control.counts()
                return Response(200, b"ok", "text/plain")
            if request.path == "/metrics":
                text = "\n".join(metrics(await self._control.counts(), self._nginx.starts))
                return Response(200, text.encode() + b"\n", _TYPE)
        except ControlError as error:
            return Response(503, f"{error}\n".encode(), "text/plain")
        if request.path == "/problems":
            lines = [f"{key}: {p}" for key, found in sorted(self._table.problems.items()) for p in found]
            return Response(200, ("\n".join(lines) + "\n").encode() if lines else b"", "text/plain")
        return Response(404, b"not found\n", "text/plain")


def metrics(counts: str, starts: int) -> Iterator[str]:
    """Prometheus' text of what nginx has counted, with the names of ingress-nginx where it has them."""
    yield "# TYPE fairway_ingress_nginx_starts_total counter"
    yield f"fairway_ingress_nginx_starts_total {starts}"
    found = [line.rpartition(" ")[::2] for line in counts.splitlines() if "|" in line]
    yield "# TYPE nginx_ingress_controller_requests counter"
    for key, value in sorted(found):
        what, *labels = key.split("|")
        if what == "requests":
            yield f'nginx_ingress_controller_requests{{{_labels(labels[:2])},status="{labels[2]}"}} {value}'
    yield "# TYPE nginx_ingress_controller_request_duration_seconds histogram"
    yield from _histogram(dict(found))


def _histogram(counts: dict[str, str]) -> Iterator[str]:
    name = "nginx_ingress_controller_request_duration_seconds"
    for key in sorted(key for key in counts if key.startswith("count|")):
        labels, total = key.split("|")[1:], 0
        rest = "|".join(labels)
        for bound in _BOUNDS:
            total += int(float(counts.get(f"bucket|{rest}|{bound}", "0")))
            yield f'{name}_bucket{{{_labels(labels)},le="{bound}"}} {total}'
        yield f'{name}_bucket{{{_labels(labels)},le="+Inf"}} {counts[key]}'
        yield f"{name}_sum{{{_labels(labels)}}} {counts.get(f'seconds|{rest}', '0')}"
        yield f"{name}_count{{{_labels(labels)}}} {counts[key]}"


def _labels(labels: list[str]) -> str:
    namespace, _, ingress = labels[0].partition("/")
    service, _, port = labels[1].rpartition(":")
    name = service.partition("/")[2]
    return f'namespace="{namespace}",ingress="{ingress}",service="{name}",service_port="{port}"'
