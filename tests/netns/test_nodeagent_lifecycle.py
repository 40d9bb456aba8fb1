"""Hooks, messages and reasons of real containers: what happens around a start and an end."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.netns.node_under_test import Node, until
from tests.netns.test_nodeagent_pods import SLEEPER, shell


def terminated(node: Node, name: str) -> dict[str, object]:
    container = node.container(name)
    states = [container.get("state") or {}, container.get("lastState") or {}]
    return next((state["terminated"] for state in states if "terminated" in state), {})


def allow(pods: Path) -> None:
    process = next(pods.glob("*/containers/main/0/pid")).read_text()
    Path(f"/proc/{process}/root/tmp/go").touch()


async def test_a_container_counts_as_running_only_after_its_post_start_hook(node: Node) -> None:
    hook = {
        "exec": {
            "command": ["sh", "-c", "while [ ! -e /tmp/go ]; do sleep 0.05; done; echo hooked > /tmp/done"]
        }
    }
    node.put("web", containers=[SLEEPER | {"lifecycle": {"postStart": hook}}])
    folder = node.data / "pods"
    await until(lambda: any(folder.glob("*/containers/main/0/process.json")), "the process is there")
    await asyncio.sleep(0.3)
    assert "running" not in (node.container("web").get("state") or {})
    allow(folder)
    await node.ready("web")
    assert await node.inside("web", "cat", "/tmp/done") == "hooked\n"


async def test_a_post_start_hook_that_fails_ends_the_container_and_says_why(node: Node) -> None:
    hook = {"exec": {"command": ["sh", "-c", "echo no luck; exit 1"]}}
    node.put("web", containers=[SLEEPER | {"lifecycle": {"postStart": hook}}], restartPolicy="Never")
    await until(lambda: node.last_status("web").get("phase") in ("Failed", "Succeeded"), "it has ended")
    assert terminated(node, "web")["reason"] == "PostStartHookError"
    assert terminated(node, "web")["message"] == "no luck"
    assert ("web", "FailedPostStartHook", "PostStartHook failed: no luck") in node.api.events


async def test_a_pod_can_be_deleted_while_its_post_start_hook_hangs(node: Node) -> None:
    node.put("web", containers=[SLEEPER | {"lifecycle": {"postStart": {"sleep": {"seconds": 3600}}}}])
    await until(lambda: any((node.data / "pods").glob("*/containers/main/0/process.json")), "it runs")
    node.delete("web", grace=1)
    await node.gone("web")


async def test_a_pre_stop_pause_delays_the_end_but_not_beyond_the_grace_period(node: Node) -> None:
    loop = asyncio.get_running_loop()
    for seconds, grace, bounds in ((1, 30, (1.0, 25.0)), (3600, 2, (1.9, 25.0))):
        name = f"pause-{seconds}"
        node.put(name, containers=[SLEEPER | {"lifecycle": {"preStop": {"sleep": {"seconds": seconds}}}}])
        await node.ready(name)
        began = loop.time()
        node.delete(name, grace=grace)
        await until(lambda name=name: node.manager.find("default", name) is None, "gone", 40)
        assert bounds[0] <= loop.time() - began < bounds[1]


async def test_a_failed_containers_log_stands_in_for_its_message_if_it_wants_that(node: Node) -> None:
    failing = shell("echo first; echo the disk is full >&2; exit 3")
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    node.put("log", containers=[failing | policy], restartPolicy="Never")
    node.put("none", containers=[failing], restartPolicy="Never")
    own = shell("echo noise; echo -n mine > /tmp/why; exit 3", terminationMessagePath="/tmp/why")
    node.put("file", containers=[own | policy], restartPolicy="Never")
    for name in ("log", "none", "file"):
        await until(lambda name=name: bool(terminated(node, name)), f"{name} has ended")
    assert str(terminated(node, "log")["message"]).endswith("the disk is full\n")
    assert "message" not in terminated(node, "none")
    assert terminated(node, "file")["message"] == "mine"


async def test_a_container_killed_for_want_of_memory_says_so(node: Node) -> None:
    eater = shell("x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", resources={"limits": {"memory": "16Mi"}})
    node.put("eater", containers=[eater], restartPolicy="Never")
    await until(lambda: bool(terminated(node, "eater")), "it has ended", 60)
    assert terminated(node, "eater")["exitCode"] == 137
    assert terminated(node, "eater")["reason"] == "OOMKilled"
