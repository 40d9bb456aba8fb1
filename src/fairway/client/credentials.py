"""Who we are right now: what the kubeconfig states, or what a plugin said and has not taken back.

A plugin's answer is kept until it expires or the server refuses it; many callers wait for one run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fairway.client.exec_plugin import Credential, ExecPlugin, run
from fairway.client.kubeconfig import KubeConfig


@dataclass(slots=True)
class Credentials:
    """`run` and `now` are passed in by tests."""

    config: KubeConfig
    run: Callable[[ExecPlugin], Awaitable[Credential]] = run
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _held: KubeConfig | None = None
    _expires: datetime | None = None
    _running: asyncio.Lock | None = None

    async def current(self) -> KubeConfig:
        """The configuration with a credential in it that is good for now."""
        if self.config.exec is None:
            return self.config
        if self._is_good():
            return self._held or self.config
        self._running = self._running or asyncio.Lock()
        async with self._running:
            if not self._is_good():
                self._take(await self.run(self.config.exec))
        return self._held or self.config

    def refused(self, used: KubeConfig) -> bool:
        """The server would not have it; whether to try again with another."""
        if self.config.exec is not None and self._held is used:
            self._held = None
        return self.config.exec is not None or self.config.token_file is not None

    def _is_good(self) -> bool:
        return self._held is not None and (self._expires is None or self.now() < self._expires)

    def _take(self, credential: Credential) -> None:
        self._expires = credential.expires
        self._held = replace(
            self.config,
            token=credential.token,
            client_certificate=credential.certificate or self.config.client_certificate,
            client_key=credential.key or self.config.client_key,
        )
