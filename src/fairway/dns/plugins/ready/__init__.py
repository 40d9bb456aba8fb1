"""`ready [ADDRESS]`: HTTP /ready says OK once every plugin is, and keeps saying so."""

from __future__ import annotations

from fairway.dns.page_plugin import PagePlugin


class Ready(PagePlugin):
    name = "ready"
    path = "/ready"
    address = ":8181"
    was_ready = False

    def page(self) -> tuple[int, str]:
        # An API server that goes away later does not make the answers we have worthless.
        missing = [] if self.was_ready else self.setup.around.not_ready()
        self.was_ready = not missing
        return (503, ",".join(missing)) if missing else (200, "OK")


PLUGIN = Ready
