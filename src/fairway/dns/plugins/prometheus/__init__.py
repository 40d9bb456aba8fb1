"""`prometheus [ADDRESS]`: HTTP /metrics."""

from __future__ import annotations

from fairway.dns.page_plugin import PagePlugin


class Prometheus(PagePlugin):
    name = "prometheus"
    path = "/metrics"
    address = "localhost:9153"

    def page(self) -> tuple[int, str]:
        return 200, self.setup.around.metrics.text()


PLUGIN = Prometheus
