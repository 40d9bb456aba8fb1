from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairway.api.kinds import ALL
from fairway.api.resources import SERVICES, Resource
from fairway.api.schema.openapi import OpenApi
from fairway.apiserver.allocators.services import ServiceAllocator
from fairway.apiserver.api import Api
from fairway.apiserver.authenticate import Authenticator, ServiceAccountTokens
from fairway.apiserver.bootstrap import bootstrap
from fairway.apiserver.commit import Committer, Companion
from fairway.apiserver.config import Config
from fairway.apiserver.discovery import Discovery
from fairway.apiserver.openapi import served
from fairway.apiserver.route import Routes
from fairway.apiserver.server import ApiServer
from fairway.apiserver.service_account_tokens import TokenAuthority
from fairway.apiserver.store import Store
from fairway.storage.memory import MemoryBackend

from .memory_server import Clock, Server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def server(tmp_path: Path, clock: Clock) -> AsyncIterator[Server]:
    config = Config(tmp_path, service_networks=(ipaddress.ip_network("10.96.0.0/16"),))
    store = Store(MemoryBackend(), ALL)
    companions: dict[Resource, Companion] = {}
    committer = Committer(store, companions, clock)
    companions[SERVICES] = ServiceAllocator(store, config.service_networks, config.node_ports, clock)
    await store.open()
    await bootstrap(committer, config)
    tokens = TokenAuthority.open(tmp_path / "pki" / "sa.key", clock)
    authenticator = Authenticator({}, ServiceAccountTokens(tokens, store))
    api = Api(store, committer, None, authenticator, tokens)  # type: ignore[arg-type]
    application = ApiServer(api, Routes(ALL), Discovery(ALL, "127.0.0.1:6443"), OpenApi(served(ALL)))
    yield Server(application, store, clock)
    store.end_watches()
    await store.close()
