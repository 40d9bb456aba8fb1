"""What exists from the start stays: what is deleted is put back, what others wrote is left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairway.api.kinds import ALL
from fairway.api.resources import ENDPOINT_SLICES, ENDPOINTS, IP_ADDRESSES, SERVICES, Resource
from fairway.apiserver.allocators.services import ServiceAllocator
from fairway.apiserver.bootstrap import KINDS, OWN_SERVICE, bootstrap, put_back
from fairway.apiserver.commit import Committer, Companion
from fairway.apiserver.config import Config
from fairway.apiserver.store import Store
from fairway.storage.memory import MemoryBackend


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(tmp_path)


@pytest.fixture
async def committer(config: Config) -> AsyncIterator[Committer]:
    store = Store(MemoryBackend(), ALL)
    companions: dict[Resource, Companion] = {}
    committer = Committer(store, companions)
    companions[SERVICES] = ServiceAllocator(
        store, config.service_networks, config.node_ports, committer.clock
    )
    await store.open()
    await bootstrap(committer, config)
    yield committer
    await store.close()


@pytest.mark.parametrize("resource", [SERVICES, ENDPOINTS, ENDPOINT_SLICES], ids=lambda r: r.plural)
async def test_the_servers_own_service_is_put_back_when_deleted(
    committer: Committer, config: Config, resource: Resource
) -> None:
    bucket = committer.store.bucket(resource)
    before = bucket.entries[OWN_SERVICE].obj()
    await committer.remove(KINDS[resource], bucket.entries[OWN_SERVICE])
    assert OWN_SERVICE not in bucket.entries
    await put_back(committer, config)
    after = bucket.entries[OWN_SERVICE].obj()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after.get("spec") == before.get("spec")
    assert list(committer.store.bucket(IP_ADDRESSES).entries) == ["10.96.0.1"]


async def test_nothing_is_written_while_nothing_is_missing(committer: Committer, tmp_path: Path) -> None:
    """Not even by a server that would say something else of itself."""
    revision = committer.store.revision
    await put_back(committer, Config(tmp_path, port=7443, advertise_address="192.0.2.7"))
    assert committer.store.revision == revision
