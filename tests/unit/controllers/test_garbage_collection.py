"""Garbage collection: dependents follow their owners, first, later, or not at all, as asked."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.api.objects import ObjectMeta, OwnerReference
from fairway.api.resources import CONFIG_MAPS, NODES, PODS, REPLICA_SETS
from fairway.controllers.garbagecollector.controller import GarbageCollector
from fairway.controllers.garbagecollector.graph import FOREGROUND, Thing
from fairway.controllers.garbagecollector.plan import Owner, plan
from fairway.controllers.writes import Delete, Patch

from .fake_cluster import FakeClient, fake_cluster
from .test_late_watches import work


def thing(name: str, *owners: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "shop", "ownerReferences": list(owners), **meta}}


def owner(name: str, *, kind: str = "ConfigMap", version: str = "v1", **ref: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{name}", **ref}


class World:
    def __init__(self) -> None:
        cluster, self.client = fake_cluster()
        self.collector = GarbageCollector(cluster, (CONFIG_MAPS, PODS, REPLICA_SETS, NODES), doubt=0)

    async def settle(self) -> None:
        for _ in range(10):
            self.client.deliver()
            await work(self.collector.loop)
            if not self.client.pending:
                return

    def names(self) -> list[str]:
        return sorted(obj["metadata"]["name"] for obj in self.client.objects.values())


def going(client: FakeClient, resource: Any, name: str, finalizer: str) -> None:
    """What a DELETE with a propagation policy makes of an object."""
    obj = client.objects[resource, f"shop/{name}"]
    meta = {**obj["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [finalizer]}
    client.put(resource, {**obj, "metadata": meta})


@pytest.fixture
def world() -> World:
    return World()


async def test_a_dependent_follows_its_owner(world: World) -> None:
    world.client.put(CONFIG_MAPS, thing("one"))
    world.client.put(PODS, thing("a", owner("one")))
    await world.settle()
    assert world.names() == ["a", "one"]
    await world.client.delete(CONFIG_MAPS, "one", namespace="shop")
    await world.settle()
    assert world.names() == []


async def test_owners_that_never_were_do_not_keep_it(world: World) -> None:
    world.client.put(CONFIG_MAPS, thing("one"))
    world.client.put(PODS, thing("wrong-uid", {**owner("one"), "uid": "uid-former"}))
    world.client.put(PODS, thing("unowned", owner("nobody")))
    await world.settle()
    assert world.names() == ["one"]


async def test_an_owner_never_seen_is_looked_for_twice_before_its_dependent_goes() -> None:
    cluster, client = fake_cluster()
    collector = GarbageCollector(cluster, (CONFIG_MAPS, PODS))
    client.put(PODS, thing("a", owner("nobody")))
    client.deliver()
    assert await collector.sync("uid-a")
    assert client.all(PODS)
    assert await collector.sync("uid-a") is None
    assert not client.all(PODS)


async def test_one_owner_left_is_enough_and_the_other_reference_goes(world: World) -> None:
    for name in ("one", "two"):
        world.client.put(CONFIG_MAPS, thing(name))
    world.client.put(PODS, thing("a", owner("one"), owner("two")))
    await world.settle()
    await world.client.delete(CONFIG_MAPS, "one", namespace="shop")
    await world.settle()
    kept = world.client.objects[PODS, "shop/a"]["metadata"]["ownerReferences"]
    assert [ref["name"] for ref in kept] == ["two"]
    await world.client.delete(CONFIG_MAPS, "two", namespace="shop")
    await world.settle()
    assert world.names() == []


async def test_an_owner_the_informer_has_not_shown_yet_counts(world: World) -> None:
    world.client.put(CONFIG_MAPS, thing("one"))
    late, world.client.pending = world.client.pending, []
    world.client.put(PODS, thing("a", owner("one")))
    await world.settle()
    assert world.names() == ["a", "one"]
    world.client.pending = late
    await world.settle()
    assert world.names() == ["a", "one"]


async def test_in_the_foreground_dependents_go_first(world: World) -> None:
    world.client.put(CONFIG_MAPS, thing("one"))
    world.client.put(PODS, thing("blocks", owner("one", blockOwnerDeletion=True)))
    await world.settle()
    going(world.client, CONFIG_MAPS, "one", "foregroundDeletion")
    await world.settle()
    assert ("shop/blocks" in {key for _, key in world.client.objects}) is False
    assert "finalizers" not in world.client.objects[CONFIG_MAPS, "shop/one"]["metadata"]


async def test_a_dependent_that_does_not_block_is_not_waited_for(world: World) -> None:
    world.client.put(CONFIG_MAPS, thing("one"))
    world.client.put(PODS, thing("loose", owner("one")))
    await world.settle()
    going(world.client, CONFIG_MAPS, "one", "foregroundDeletion")
    await world.settle()
    assert "finalizers" not in world.client.objects[CONFIG_MAPS, "shop/one"]["metadata"]
    assert (PODS, "shop/loose") in world.client.objects


async def test_orphans_stay_without_their_reference(world: World) -> None:
    world.client.put(CONFIG_MAPS, thing("one"))
    world.client.put(PODS, thing("a", owner("one")))
    await world.settle()
    going(world.client, CONFIG_MAPS, "one", "orphan")
    await world.settle()
    assert "ownerReferences" not in world.client.objects[PODS, "shop/a"]["metadata"]
    assert "finalizers" not in world.client.objects[CONFIG_MAPS, "shop/one"]["metadata"]


async def test_an_owner_of_a_kind_nobody_knows_is_left_alone(world: World) -> None:
    world.client.put(PODS, thing("a", owner("one", kind="Widget", version="example.com/v1")))
    await world.settle()
    assert world.names() == ["a"]


async def test_someone_elses_change_in_between_is_noticed(world: World) -> None:
    world.client.put(CONFIG_MAPS, thing("one"))
    world.client.put(PODS, thing("a", owner("one")))
    await world.settle()
    await world.client.delete(CONFIG_MAPS, "one", namespace="shop")
    gone, world.client.pending = world.client.pending, []
    adopted = thing("a", owner("two"))
    adopted["metadata"]["uid"] = "uid-a"
    world.client.put(CONFIG_MAPS, thing("two"))
    world.client.put(PODS, adopted)
    late, world.client.pending = world.client.pending, gone
    world.client.deliver()
    key = await world.collector.loop.queue.get()
    await world.collector.loop.look_at(key)
    assert (PODS, "shop/a") in world.client.objects
    world.client.pending = late


async def test_a_reference_across_namespaces_keeps_nothing(world: World) -> None:
    world.client.put(CONFIG_MAPS, thing("one", namespace="elsewhere"))
    world.client.put(PODS, thing("a", owner("one")))
    await world.settle()
    assert world.names() == ["one"]


async def test_a_reference_with_the_right_uid_and_the_wrong_name_keeps_nothing(world: World) -> None:
    world.client.put(CONFIG_MAPS, thing("one"))
    world.client.put(PODS, thing("a", {**owner("one"), "name": "uno"}))
    await world.settle()
    assert world.names() == ["one"]


def test_in_a_circle_of_owners_one_stops_holding_up_the_other() -> None:
    first = OwnerReference("ConfigMap", "one", "uid-one", "v1", block_owner_deletion=True)
    waiting = ObjectMeta("one", uid="uid-one", deletion_timestamp="…", finalizers=[FOREGROUND])
    two = Thing(CONFIG_MAPS, ObjectMeta("two", uid="uid-two", owner_references=[first]))
    unblocked, deletion = plan(two, [(first, Owner.WAITING)], [Thing(CONFIG_MAPS, waiting)])
    assert isinstance(unblocked, Patch)
    (kept,) = unblocked.patch["metadata"]["ownerReferences"]
    assert (kept.uid, kept.block_owner_deletion) == ("uid-one", False)
    assert isinstance(deletion, Delete)
    assert deletion.propagation == "Foreground"
