"""Pods nobody else will clean up."""

from __future__ import annotations

from fairway.api.resources import NODES, PODS
from fairway.controllers.podgc.controller import ALL, PodGarbageCollector
from fairway.controllers.podgc.plan import ended_for_long, never_started

from .fake_cluster import fake_cluster
from .objects import NOW, pod
from .test_late_watches import running_pod


def test_the_oldest_ended_pods_beyond_the_limit_go() -> None:
    ended = [pod(f"p{i}", phase="Succeeded", created=NOW - i) for i in range(5)]
    assert [w.name for w in ended_for_long([*ended, pod("runs")], limit=3)] == ["p4", "p3"]


def test_a_deleted_pod_that_never_had_a_node_goes_at_once() -> None:
    pods = [pod("never", node="", going=True), pod("going", going=True), pod("waits", node="")]
    (write,) = never_started(pods)
    assert (write.name, write.grace_period_seconds) == ("never", 0)


async def test_pods_of_a_node_that_is_gone_for_good_go_too() -> None:
    cluster, client = fake_cluster()
    moment = [NOW]
    cluster.now = lambda: moment[0]
    collector = PodGarbageCollector(cluster)
    client.put(PODS, running_pod("p", "10.0.0.1"))
    client.deliver()
    await collector.loop.look_at(ALL)
    assert client.all(PODS), "it may just be registering again"
    moment[0] += 60
    await collector.loop.look_at(ALL)
    assert not client.all(PODS)


async def test_a_node_the_informer_has_not_shown_keeps_its_pods() -> None:
    cluster, client = fake_cluster()
    moment = [NOW]
    cluster.now = lambda: moment[0]
    collector = PodGarbageCollector(cluster)
    client.put(PODS, running_pod("p", "10.0.0.1"))
    client.deliver()
    client.put(NODES, {"metadata": {"name": "n1"}})
    for _ in range(3):
        moment[0] += 60
        await collector.loop.look_at(ALL)
    assert client.all(PODS)
