"""Admission: what hangs on other objects, and on which plugins are on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairway.api.errors import StatusError
from fairway.api.kinds import ALL
from fairway.api.resources import NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS
from fairway.apiserver.admission import Plugins, service_account
from fairway.apiserver.commit import Committer
from fairway.apiserver.store import Store
from fairway.storage.memory import MemoryBackend

Obj = dict[str, Any]
KINDS = {kind.resource: kind for kind in ALL}


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = Store(MemoryBackend(), ALL)
    await opened.open()
    await Committer(opened, {}).create(KINDS[NAMESPACES], {"metadata": {"name": "ns"}}, "")
    yield opened
    await opened.close()


def pod(**spec: Any) -> Obj:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


async def add_account(store: Store, name: str, **fields: Any) -> None:
    await Committer(store, {}).create(KINDS[SERVICE_ACCOUNTS], {"metadata": {"name": name}, **fields}, "ns")


async def create(store: Store, obj: Obj, *disabled: str) -> Obj:
    committer = Committer(store, {}, admission=Plugins(store, frozenset(disabled)))
    return (await committer.create(KINDS[PODS], obj, "ns")).obj


async def test_a_pod_acts_as_the_default_account_and_gets_its_token(store: Store) -> None:
    await add_account(store, "default", imagePullSecrets=[{"name": "pull"}])
    spec = (await create(store, pod()))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert spec["volumes"][0]["name"] == spec["containers"][0]["volumeMounts"][0]["name"]
    assert spec["imagePullSecrets"] == [{"name": "pull"}]


async def test_an_account_that_is_not_there_is_a_refusal(store: Store) -> None:
    with pytest.raises(StatusError) as refusal:
        await create(store, pod(serviceAccountName="none"))
    assert refusal.value.code == 403
    assert refusal.value.message == (
        'pods "p" is forbidden: error looking up service account ns/none: serviceaccount "none" not found'
    )


async def test_the_default_account_may_come_a_little_later(store: Store) -> None:
    async def sleep(seconds: float) -> None:
        await add_account(store, "default")

    found = await service_account.find_account(store, "ns", "default", sleep)
    assert found is not None
    assert found["metadata"]["name"] == "default"


async def test_any_other_account_must_be_there_already(store: Store) -> None:
    async def sleep(seconds: float) -> None:
        raise AssertionError("nothing to wait for")

    assert await service_account.find_account(store, "ns", "other", sleep) is None


async def test_without_the_plugin_no_account_is_needed(store: Store) -> None:
    spec = (await create(store, pod(), "ServiceAccount"))["spec"]
    assert "serviceAccountName" not in spec
    assert "volumes" not in spec


async def test_each_plugin_can_be_turned_off(store: Store) -> None:
    await add_account(store, "default")
    spec = (await create(store, pod(priorityClassName="odd"), "Priority", "DefaultTolerationSeconds"))["spec"]
    assert "priority" not in spec
    assert "tolerations" not in spec


async def test_pods_of_a_node_itself_have_no_account(store: Store) -> None:
    mirror = pod(nodeName="n")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert "serviceAccountName" not in (await create(store, mirror))["spec"]


async def test_a_new_node_is_tainted_until_it_is_ready(store: Store) -> None:
    committer = Committer(store, {}, admission=Plugins(store))
    node = (await committer.create(KINDS[NODES], {"metadata": {"name": "n"}}, "")).obj
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
