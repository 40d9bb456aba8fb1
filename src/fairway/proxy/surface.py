"""What one running proxy shows of itself: which page tells what, and who is told how programming goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from ipaddress import ip_address, ip_network

import msgspec

from fairway.api.objects import Node
from fairway.httpserver import Request, Response
from fairway.kernel.local_addresses import local_addresses
from fairway.metrics import CONTENT_TYPE, exposition
from fairway.proxy.config import Config
from fairway.proxy.config_fields import written
from fairway.proxy.health import Health
from fairway.proxy.health_checks import HealthChecks
from fairway.proxy.measures import Measures
from fairway.proxy.pages import process_figures, serve, text
from fairway.proxy.programming import Changes, Counting, Describing, Mode, Programmer
from fairway.proxy.service_figures import ServiceFigures
from fairway.proxy.settings import Settings
from fairway.proxy.spelling import ALL, node_ranges
from fairway.proxy.views import EndpointSlice


class Surface:
    """An observer of the programmer, and the servers of all pages."""

    def __init__(self, config: Config, mode: Mode[Settings], services: Callable[[], int]) -> None:
        self._config, self._mode, self._services = config, mode, services
        self._settings = Settings()
        self._service_figures = ServiceFigures(mode)
        self.measures = Measures()
        self.health = Health(config.health_timeout)
        self._checks = HealthChecks(lambda: self.health.is_healthy, self._check_addresses)

    # -- what happens ----------------------------------------------------------------------------------

    def service_changed(self) -> None:
        self.measures.service_changed()

    def slice_changed(self, new: EndpointSlice | None) -> None:
        self.measures.slice_changed(new)

    def node_changed(self, node: Node | None) -> None:
        self.health.node_changed(node)

    def reconfigured(self, settings: Settings) -> None:
        moved = settings.nodeport_addresses != self._settings.nodeport_addresses
        self._settings = settings
        if moved:
            self._checks.move()

    def queued(self) -> None:
        self.health.queued()
        self.measures.queued()

    def programmed(self, changes: Changes, everything: bool, took: float) -> None:
        self.health.updated()
        self.measures.programmed(changes, everything, took)
        self._checks.take(changes)

    def failed(self) -> None:
        # Whatever it was for, it is late from now on.
        self.health.queued()
        self.measures.failed()

    def repaired(self) -> None:
        self.health.queued()
        self.measures.repaired()

    # -- what is shown ---------------------------------------------------------------------------------

    async def run(self, programmer: Programmer[Settings]) -> None:
        """Serves until cancelled."""
        config, self._programmer = self._config, programmer
        health = {"/healthz": self._healthz, "/livez": self._livez}
        details = {
            "/healthz": self._ok,
            "/metrics": self._metrics,
            "/proxyMode": self._proxy_mode,
            "/configz": self._configz,
            "/rules": self._rules,
        }
        hard = config.bind_address_hard_fail
        async with asyncio.TaskGroup() as group:
            group.create_task(serve("healthz", config.healthz_bind_address, health, hard))
            group.create_task(serve("metrics", config.metrics_bind_address, details, hard))
            group.create_task(self._checks.run())

    async def _healthz(self, request: Request) -> Response:
        answer = self.health.healthz()
        self.measures.healthz[str(answer.status)] += 1
        return answer

    async def _livez(self, request: Request) -> Response:
        answer = self.health.livez()
        self.measures.livez[str(answer.status)] += 1
        return answer

    async def _ok(self, request: Request) -> Response:
        return text("ok")

    async def _proxy_mode(self, request: Request) -> Response:
        return text(self._config.proxy_mode)

    async def _configz(self, request: Request) -> Response:
        document = {"kubeproxy.config.k8s.io": written(self._config)}
        return Response(200, msgspec.json.encode(document))

    async def _metrics(self, request: Request) -> Response:
        figures = [*self.measures.figures(self._config.proxy_mode, self._services()), *process_figures()]
        mode = self._mode
        if isinstance(mode, Counting):
            figures += await self._programmer.ask(lambda: list(mode.figures()))
        counted = await self._service_figures.text(lambda question: self._programmer.ask(question))
        return Response(200, (exposition(figures) + counted).encode(), CONTENT_TYPE)

    async def _rules(self, request: Request) -> Response:
        service, mode = request.query().get("service", ""), self._mode
        if service.count("/") != 1:
            return text("name a Service: /rules?service=NAMESPACE/NAME\n", 400)
        if not isinstance(mode, Describing):
            return text(
                f"proxy mode {self._config.proxy_mode} does not describe what it has programmed\n", 501
            )
        described = await self._programmer.ask(lambda: mode.describe(service))
        if not described:
            return text(f"nothing is programmed for Service {service}\n", 404)
        return text(described)

    def _check_addresses(self) -> Sequence[str] | None:
        """Where node ports are served, there are the health-check ports."""
        ranges = self._settings.nodeport_addresses
        if not ranges or set(node_ranges([ALL])) <= set(ranges):
            return None
        networks = [ip_network(text) for text in ranges]
        local = [ip_address(text) for text in sorted(local_addresses())]
        # A link's own addresses can't be told from those of the next link without its name.
        return [
            str(ip) for ip in local if not ip.is_link_local and any(ip in network for network in networks)
        ]
