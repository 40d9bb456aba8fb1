"""One client with one connection that sends whatever it is told, in time or not at all."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tests.conformance.server import TOKEN, ApiServer

PATIENCE = 60.0
CREDENTIALS = {"Authorization": f"Bearer {TOKEN}"}


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    seconds: float
    """Of the server's processor: how long a client waits depends on what else the machine does."""
    media: str = ""

    def json(self) -> Any:
        """The document, in the format in which it came."""
        return yaml.safe_load(self.body) if "yaml" in self.media else json.loads(self.body)

    @property
    def message(self) -> str:
        """What a Status says; anything else as it stands."""
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return str(self.json()["message"])
        return self.body[:200].decode("latin-1")

    @property
    def is_status(self) -> bool:
        """Whether a refusal is told the way Kubernetes tells it."""
        with contextlib.suppress(ValueError):
            value = self.json()
            return bool(value["kind"] == "Status" and value["code"] == self.status)
        return False


class Probe:
    def __init__(self, api_server: ApiServer, tls: ssl.SSLContext | None = None) -> None:
        self.api_server = api_server
        self._tls = tls or api_server.tls()
        self._connection: http.client.HTTPSConnection | None = None

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        media: str = "application/json",
        headers: Mapping[str, str] = CREDENTIALS,
    ) -> Reply:
        """Raises OSError or HTTPException if there is no answer, or none within PATIENCE seconds."""
        begin = self.api_server.processor_seconds()
        connection = self._connection or self._open()
        try:
            connection.request(method, path, body, {"Content-Type": media, **headers})
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if response.will_close:
            self.close()
        media = response.headers.get("Content-Type", "")
        used = self.api_server.processor_seconds() - begin
        return Reply(response.status, content, used, media)

    def _open(self) -> http.client.HTTPSConnection:
        port = self.api_server.port
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=self._tls)
        return self._connection

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None


@contextlib.contextmanager
def probing(server: ApiServer) -> Iterator[Probe]:
    probe = Probe(server)
    yield probe
    probe.close()
