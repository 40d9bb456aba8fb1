"""`prometheus [ADDRESS]`: HTTP /metrics."""

from __future__ import annotations

from fairway.dns.exposition import text
from fairway.dns.page_plugin import PagePlugin


class Prometheus(PagePlugin):
    name = "prometheus"
    path = "/metrics"
    address = "localhost:9153"

    def page(self) -> tuple[int, str]:
        return 200, text(self.setup.around.metrics)


PLUGIN = Prometheus
