"""What containers may ask of the kernel, and whom they share their processes with: on the real kernel."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.netns.node_under_test import Node, process_exists, traces, until

WAITS = "trap 'exit 0' TERM; while :; do sleep 1000 & wait; done"
FILTERED, UNFILTERED = "Seccomp:\t2\n", "Seccomp:\t0\n"


def waiting(name: str = "main", **security: Any) -> dict[str, Any]:
    return {"name": name, "image": "busybox", "command": ["sh", "-c", WAITS], "securityContext": security}


async def refused(node: Node, pod: str, *command: str) -> bool:
    run = node.worker(pod).runs.latest["main"]
    done = await node.runtime.execute(run.id, command)
    assert done.exit_code == 0 or b"not permitted" in done.errors, done
    return done.exit_code != 0


# ---- system calls ----------------------------------------------------------------------------------------


async def test_a_container_has_the_default_profile_unless_it_says_otherwise(node: Node) -> None:
    node.put("plain", containers=[waiting()])
    node.put("free", containers=[waiting(seccompProfile={"type": "Unconfined"})])
    node.put("trusted", containers=[waiting(privileged=True)])
    for name, filtered in (("plain", FILTERED), ("free", UNFILTERED), ("trusted", UNFILTERED)):
        await node.ready(name)
        assert filtered in await node.inside(name, "cat", "/proc/1/status")
    # Any user may make a user namespace as far as the kernel is concerned: only the profile forbids it.
    assert await refused(node, "plain", "unshare", "-U", "true")
    assert not await refused(node, "free", "unshare", "-U", "true")


async def test_a_capability_brings_the_calls_that_it_stands_for(node: Node) -> None:
    node.put("mounts", containers=[waiting(capabilities={"add": ["SYS_ADMIN"]})])
    await node.ready("mounts")
    assert FILTERED in await node.inside("mounts", "cat", "/proc/1/status")
    assert not await refused(node, "mounts", "mount", "-t", "tmpfs", "none", "/tmp")


async def test_a_profile_of_the_nodes_own_is_used_by_name(node: Node) -> None:
    rule = {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}
    (node.data / "seccomp").mkdir()
    profile = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [rule]}
    (node.data / "seccomp" / "no-folders.json").write_text(json.dumps(profile))
    wish = {"type": "Localhost", "localhostProfile": "no-folders.json"}
    node.put("local", containers=[waiting()], securityContext={"seccompProfile": wish})
    await node.ready("local")
    assert await refused(node, "local", "mkdir", "/tmp/folder")
    assert not await refused(node, "local", "touch", "/tmp/file")


async def test_a_profile_that_is_missing_keeps_the_container_waiting_and_names_it(node: Node) -> None:
    wish = {"type": "Localhost", "localhostProfile": "none.json"}
    node.put("lost", containers=[waiting(seccompProfile=wish)])
    await until(lambda: "none.json" in str(node.container("lost")), "the file is named")
    assert node.container("lost")["state"]["waiting"]["reason"] == "CreateContainerConfigError"


async def test_sysctls_of_a_pod_are_set_in_its_own_namespace(node: Node) -> None:
    wish = [{"name": "net.ipv4.tcp_syncookies", "value": "0"}]
    node.put("tuned", containers=[waiting()], securityContext={"sysctls": wish})
    await node.ready("tuned")
    assert await node.inside("tuned", "cat", "/proc/sys/net/ipv4/tcp_syncookies") == "0\n"


# ---- processes -------------------------------------------------------------------------------------------


def put_sharing(node: Node, name: str = "sharing") -> None:
    containers = [waiting("main"), waiting("other") | {"command": ["sleep", "86397"]}]
    node.put(name, shareProcessNamespace=True, containers=containers)


async def test_containers_that_share_their_processes_see_and_signal_one_another(node: Node) -> None:
    put_sharing(node)
    await node.ready("sharing")
    seen = await node.inside("sharing", "ps", "-o", "pid,args")
    assert "sleep 86397" in seen
    other = next(line.split()[0] for line in seen.splitlines() if "sleep 86397" in line)
    assert other != "1"
    await node.inside("sharing", "kill", "-9", other)
    await until(lambda: node.container("sharing", 1).get("restartCount") == 1, "the other is started again")
    assert node.container("sharing", 0)["restartCount"] == 0


async def test_a_process_whose_parent_has_ended_is_not_left_a_zombie(node: Node) -> None:
    put_sharing(node)
    await node.ready("sharing")
    await node.inside("sharing", "sh", "-c", "(sleep 0.2 &)")
    states: list[str] = []

    async def zombies() -> bool:
        states[:] = (await node.inside("sharing", "ps", "-o", "stat,args")).splitlines()
        return any(line.startswith("Z") for line in states)

    await asyncio.sleep(0.5)
    for _ in range(50):
        if not await zombies():
            break
    assert not await zombies(), states


async def test_what_holds_the_shared_processes_outlives_the_agent_and_goes_with_the_pod(
    data: Path, images: Path
) -> None:
    async with Node(data, images).running() as first:
        nothing = traces(data)
        put_sharing(first)
        await first.ready("sharing")
        pod, pid = first.worker("sharing").pod, first.worker("sharing").runs.latest["other"].pid
        namespace = os.readlink(f"/proc/{pid}/ns/pid")
    async with Node(data, images).running() as second:
        second.tell(pod)
        await second.ready("sharing")
        os.kill(pid, signal.SIGKILL)
        await until(lambda: second.container("sharing", 1).get("restartCount") == 1, "started again")
        again = second.worker("sharing").runs.latest["other"].pid
        assert os.readlink(f"/proc/{again}/ns/pid") == namespace
        second.delete("sharing")
        await second.gone("sharing")
        assert traces(data) == nothing
        assert not process_exists(again)


async def test_a_pod_that_has_finished_lets_go_of_its_shared_processes(node: Node) -> None:
    brief = {"name": "main", "image": "busybox", "command": ["true"]}
    node.put("brief", shareProcessNamespace=True, restartPolicy="Never", containers=[brief])
    await until(lambda: node.last_status("brief").get("phase") == "Succeeded", "succeeded")
    await until(lambda: traces(node.data)["containers"] == [], "nothing runs any more")
