"""Pods run by the node agent's workers on the real kernel, with runc: what a Pod sees and what it leaves."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import msgspec

from fairway.kernel import namespaces
from fairway.nodeagent.network.pod_network import BRIDGE, names_for
from fairway.nodeagent.objects import Pod, PodStatus
from tests.netns.node_under_test import (
    Node,
    clean_up,
    command_lines,
    hardware_address,
    http_get,
    process_exists,
    traces,
    until,
)
from tests.unit.nodeagent.objects import make_service

HOSTNAMES = {"name": "main", "image": "k8s.gcr.io/serve_hostname"}


def shell(script: str, **more: Any) -> dict[str, Any]:
    return {"name": "main", "image": "busybox", "command": ["sh", "-c", script], **more}


SLEEPER = shell("trap 'exit 0' TERM; while :; do sleep 1000 & wait; done")


def as_reported(pod: Pod, status: dict[str, Any]) -> Pod:
    """The Pod as the API server has it after that status was written."""
    conditions = [{k: v for k, v in c.items() if v is not None} for c in status["conditions"]]
    return msgspec.structs.replace(
        pod, status=msgspec.convert(status | {"conditions": conditions}, PodStatus)
    )


async def test_a_pod_answers_on_its_own_address_with_its_own_name(node: Node) -> None:
    node.put("hostnames-1", containers=[HOSTNAMES | {"readinessProbe": {"httpGet": {"port": 9376}}}])
    address = await node.ready("hostnames-1")
    assert address.startswith("10.244.7.")
    assert await http_get(address, 9376) == "hostnames-1\n"


async def test_a_pod_has_its_hostname_its_hosts_and_its_resolver(node: Node) -> None:
    node.put("busybox1", hostname="busybox-1", subdomain="default-subdomain", containers=[SLEEPER])
    address = await node.ready("busybox1")
    assert await node.inside("busybox1", "hostname") == "busybox-1\n"
    assert await node.inside("busybox1", "cat", "/etc/resolv.conf") == (
        "nameserver 10.96.0.10\n"
        "search default.svc.cluster.local svc.cluster.local cluster.local\n"
        "options ndots:5\n"
    )
    hosts = await node.inside("busybox1", "cat", "/etc/hosts")
    name = "busybox-1.default-subdomain.default.svc.cluster.local"
    assert hosts.splitlines()[-1] == f"{address}\t{name}\tbusybox-1"


async def test_a_pod_sees_the_services_there_were_when_it_started(node: Node) -> None:
    node.sources.known_services = [make_service("redis-master", "10.96.0.11", {"port": 6379})]
    node.put("client", containers=[SLEEPER])
    await node.ready("client")
    env = await node.inside("client", "env")
    assert "REDIS_MASTER_SERVICE_HOST=10.96.0.11\n" in env
    assert len([line for line in env.splitlines() if line.startswith("REDIS_MASTER_")]) == 7


async def test_an_exec_readiness_probe_takes_a_pod_out_and_puts_it_back(node: Node) -> None:
    probe = {"exec": {"command": ["cat", "/tmp/ok"]}, "periodSeconds": 1, "failureThreshold": 1}
    node.put("moody", containers=[SLEEPER | {"readinessProbe": probe}])
    await until(lambda: node.container("moody").get("state", {}).get("running") is not None, "running")
    assert not node.is_ready("moody")
    await node.inside("moody", "touch", "/tmp/ok")
    await node.ready("moody")
    await node.inside("moody", "rm", "/tmp/ok")
    await until(lambda: not node.is_ready("moody"), "not ready")
    assert node.container("moody")["restartCount"] == 0


async def test_a_pod_with_a_readiness_probe_is_never_reported_ready_before_it_passed(node: Node) -> None:
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1}
    node.put("never", containers=[SLEEPER | {"readinessProbe": probe}])
    await until(lambda: node.container("never").get("started") is True, "started")
    await asyncio.sleep(0.5)
    ready = [c["status"] for s in node.api.statuses["never"] for c in s["conditions"] if c["type"] == "Ready"]
    assert set(ready) == {"False"}


async def test_a_dead_container_is_restarted_when_its_liveness_probe_fails(node: Node) -> None:
    probe = {"exec": {"command": ["cat", "/tmp/alive"]}, "periodSeconds": 1, "failureThreshold": 1}
    script = "trap 'exit 0' TERM; touch /tmp/alive; while :; do sleep 1000 & wait; done"
    node.put("sick", containers=[shell(script, livenessProbe=probe)])
    await node.ready("sick")
    await node.inside("sick", "rm", "/tmp/alive")
    await until(lambda: node.container("sick")["restartCount"] == 1, "restarted")
    assert any(reason == "Unhealthy" for _, reason, _ in node.api.events)


async def test_deleting_a_pod_leaves_nothing_behind(node: Node) -> None:
    nothing = traces(node.data)
    pod = node.put("short", containers=[HOSTNAMES], volumes=[{"name": "m", "emptyDir": {"medium": "Memory"}}])
    await node.ready("short")
    pid = node.worker("short").runs.latest["main"].pid
    namespace, _ = names_for(pod.metadata.uid)
    assert namespaces.exists(namespace)
    assert traces(node.data) != nothing
    node.delete("short")
    await node.gone("short")
    assert node.api.deleted == ["short"]
    assert traces(node.data) == nothing
    assert not namespaces.path_of(namespace).exists()
    assert not process_exists(pid)
    assert node.drain.waited == ["short"]


async def test_nothing_of_a_running_container_stays_mounted_on_the_host(node: Node) -> None:
    node.put("web", containers=[HOSTNAMES])
    await node.ready("web")
    assert traces(node.data)["mounts"] == []


async def test_a_container_is_asked_to_end_and_killed_only_after_the_grace_period(node: Node) -> None:
    stubborn = shell("trap 'echo asked' TERM; echo up; while :; do sleep 0.1; done")
    node.put("stubborn", containers=[stubborn], terminationGracePeriodSeconds=1)
    await node.ready("stubborn")
    log = node.worker("stubborn").runs.folder_of("main", 0) / "log"
    await until(lambda: "up" in log.read_text(), "the trap is set")
    node.delete("stubborn")
    began = time.monotonic()
    await until(lambda: "asked" in log.read_text(), "asked")
    await node.gone("stubborn")
    assert time.monotonic() - began > 0.9
    state = node.container("stubborn")["state"]["terminated"]
    assert (state["exitCode"], node.last_status("stubborn")["phase"]) == (137, "Failed")


async def test_a_shorter_grace_period_given_later_counts(node: Node) -> None:
    node.put("slow", containers=[shell("trap '' TERM; while :; do sleep 1; done")])
    await node.ready("slow")
    node.delete("slow", grace=3600)
    await asyncio.sleep(0.2)
    node.delete("slow", grace=1)
    await node.gone("slow")


async def test_a_pod_whose_object_vanished_is_removed_quickly_and_not_deleted_again(node: Node) -> None:
    node.put("forced", containers=[shell("trap '' TERM; while :; do sleep 1; done")])
    await node.ready("forced")
    node.vanish("forced")
    await node.gone("forced")
    assert node.api.deleted == []
    assert traces(node.data)["folders"] == []


async def test_a_finished_pod_tells_its_exit_code_and_frees_its_address(node: Node) -> None:
    job = shell("echo bye > /dev/termination-log; exit 3")
    pod = node.put("job", restartPolicy="Never", containers=[job])
    await until(lambda: node.last_status("job").get("phase") == "Failed", "failed")
    state = node.container("job")["state"]["terminated"]
    assert (state["exitCode"], state["reason"], state["message"]) == (3, "Error", "bye\n")
    await until(lambda: not namespaces.exists(names_for(pod.metadata.uid)[0]), "network gone")
    assert node.last_status("job")["podIP"]


async def test_a_crashing_container_is_restarted_at_once_and_then_backs_off(node: Node) -> None:
    node.put("crash", containers=[shell("echo bye; exit 1")])
    await until(lambda: "CrashLoopBackOff" in str(node.container("crash")), "back-off")
    found = node.container("crash")
    assert found["restartCount"] == 1
    assert found["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert found["lastState"]["terminated"]["exitCode"] == 1
    assert node.log("crash").endswith("stdout F bye\n")


async def test_init_containers_prepare_a_volume_for_the_others(node: Node) -> None:
    mounts = [{"name": "shared", "mountPath": "/data"}]
    init = {"name": "init", "image": "busybox", "command": ["sh", "-c", "echo made > /data/x"]}
    node.put(
        "two-steps",
        initContainers=[init | {"volumeMounts": mounts}],
        containers=[SLEEPER | {"volumeMounts": mounts}],
        volumes=[{"name": "shared", "emptyDir": {}}],
    )
    await node.ready("two-steps")
    assert await node.inside("two-steps", "cat", "/data/x") == "made\n"


async def test_pods_of_one_node_reach_one_another_and_themselves(node: Node) -> None:
    node.put("a", containers=[HOSTNAMES])
    node.put("b", containers=[SLEEPER])
    address = await node.ready("a")
    await node.ready("b")
    assert await node.inside("b", "wget", "-qO-", f"http://{address}:9376/") == "a\n"
    assert await node.inside("a", "wget", "-qO-", f"http://{address}:9376/") == "a\n"
    assert await node.inside("a", "wget", "-qO-", "http://127.0.0.1:9376/") == "a\n"


async def test_the_bridge_keeps_its_address_while_pods_come_and_go(node: Node) -> None:
    before = hardware_address(BRIDGE)
    for number in range(4):
        node.put(f"pod-{number}", containers=[SLEEPER])
    for number in range(4):
        await node.ready(f"pod-{number}")
    assert hardware_address(BRIDGE) == before


async def test_a_pod_in_the_nodes_network_shares_its_devices_and_address(node: Node) -> None:
    node.put("host", hostNetwork=True, containers=[SLEEPER])
    assert await node.ready("host") == "172.31.96.11"
    assert BRIDGE in await node.inside("host", "ip", "link")


async def test_a_command_that_does_not_exist_is_a_start_error_with_runcs_words(node: Node) -> None:
    node.put(
        "typo", restartPolicy="Never", containers=[{"name": "main", "image": "busybox", "command": ["/no"]}]
    )
    await until(lambda: node.last_status("typo").get("phase") == "Failed", "failed")
    state = node.container("typo")["state"]["terminated"]
    assert state["reason"] == "StartError"
    assert "/no" in state["message"]
    assert traces(node.data)["containers"] == []


async def test_a_missing_image_keeps_the_pod_waiting_with_advice(node: Node) -> None:
    node.put("noimage", containers=[{"name": "main", "image": "example.com/none:1"}])
    await until(lambda: "waiting" in node.container("noimage").get("state", {}), "waiting")
    await until(lambda: "ErrImagePull" in str(node.container("noimage")), "ErrImagePull")
    assert "fairway image load FILE" in node.container("noimage")["state"]["waiting"]["message"]


async def test_a_container_runs_as_the_user_it_asks_for_without_capabilities(node: Node) -> None:
    node.put(
        "user",
        containers=[SLEEPER | {"securityContext": {"runAsUser": 1000, "runAsGroup": 2000}}],
        securityContext={"fsGroup": 3000},
    )
    await node.ready("user")
    assert await node.inside("user", "id", "-u") == "1000\n"
    assert await node.inside("user", "id", "-G") == "2000 3000\n"
    status = await node.inside("user", "cat", "/proc/1/status")
    assert "CapEff:\t0000000000000000\n" in status


async def test_a_container_can_not_see_or_touch_the_host(node: Node) -> None:
    node.put("plain", containers=[SLEEPER])
    await node.ready("plain")
    assert (await node.inside("plain", "ls", "/root")).strip() == ""
    run = node.worker("plain").runs.latest["main"]
    for command in (["mount", "-t", "tmpfs", "x", "/mnt"], ["sh", "-c", "echo 1 > /proc/sys/kernel/sysrq"]):
        assert (await node.runtime.execute(run.id, command)).exit_code != 0
    assert (await node.inside("plain", "ps")).count("\n") < 6


async def test_a_probe_that_takes_too_long_leaves_no_process_behind(node: Node) -> None:
    probe = {"exec": {"command": ["sleep", "86399"]}, "periodSeconds": 1, "timeoutSeconds": 1}
    node.put("hang", containers=[SLEEPER | {"readinessProbe": probe}])
    await until(lambda: any(reason == "Unhealthy" for _, reason, _ in node.api.events), "timed out")
    # Three checks have run out of time by now; at most the one going on may be there.
    assert command_lines().splitlines().count("sleep 86399") <= 1


# ---- restarts of the agent and of the reaper -------------------------------------------------------------


async def test_a_restarted_agent_takes_over_what_runs_and_restarts_nothing(data: Path, images: Path) -> None:
    container = HOSTNAMES | {"readinessProbe": {"httpGet": {"port": 9376}, "periodSeconds": 60}}
    async with Node(data, images).running() as first:
        pod = first.put("steady", containers=[container])
        address = await first.ready("steady")
        before, status = first.worker("steady").runs.latest["main"], first.last_status("steady")
    assert await http_get(address, 9376) == "steady\n"
    async with Node(data, images).running() as second:
        second.tell(as_reported(pod, status))
        second.manager.remove_orphans()
        assert await second.ready("steady") == address
        assert second.worker("steady").runs.latest["main"].pid == before.pid
        ready = [
            c["status"]
            for s in second.api.statuses["steady"]
            for c in s["conditions"]
            if c["type"] == "Ready"
        ]
        assert set(ready) == {"True"}
        second.put("other", containers=[SLEEPER])
        assert await second.ready("other") != address


async def test_what_ended_while_the_agent_was_away_is_known_by_its_exit_code(
    data: Path, images: Path
) -> None:
    async with Node(data, images).running() as first:
        pod = first.put("brief", restartPolicy="Never", containers=[shell("sleep 0.5; echo end; exit 4")])
        await first.ready("brief")
    await asyncio.sleep(1)
    async with Node(data, images).running() as second:
        second.tell(pod)
        await until(lambda: second.last_status("brief").get("phase") == "Failed", "failed")
        assert second.container("brief")["state"]["terminated"]["exitCode"] == 4
        assert second.log("brief").endswith("stdout F end\n")


async def test_pods_that_vanished_while_the_agent_was_away_are_removed(data: Path, images: Path) -> None:
    async with Node(data, images).running() as first:
        first.put("orphan", containers=[SLEEPER])
        await first.ready("orphan")
    async with Node(data, images).running() as second:
        second.manager.remove_orphans()
        await second.gone("orphan")
        assert traces(data)["folders"] == traces(data)["containers"] == []


async def test_a_pod_starts_over_after_the_machine_was_restarted(data: Path, images: Path) -> None:
    mounts = [{"name": "kept", "mountPath": "/kept"}]
    container = shell("echo run >> /kept/runs; sleep 1000", volumeMounts=mounts)
    async with Node(data, images).running() as first:
        pod = first.put("again", containers=[container], volumes=[{"name": "kept", "emptyDir": {}}])
        await first.ready("again")
        pid = first.worker("again").runs.latest["main"].pid
    # What a restart of the machine takes along: processes and namespaces.
    os.kill(msgspec.json.decode((data / "runtime/reaper.json").read_bytes())["pid"], signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    namespaces.delete(names_for(pod.metadata.uid)[0])
    async with Node(data, images).running() as second:
        second.tell(pod)
        await second.ready("again")
        assert second.container("again")["restartCount"] == 1
        assert await second.inside("again", "cat", "/kept/runs") == "run\nrun\n"


async def test_no_line_is_lost_and_nothing_dies_when_the_reaper_is_killed(node: Node) -> None:
    node.put("chatty", containers=[shell("i=0; while :; do i=$((i+1)); echo $i; usleep 20000; done")])
    await node.ready("chatty")
    pid = node.worker("chatty").runs.latest["main"].pid
    await asyncio.sleep(0.5)
    reaper = msgspec.json.decode((node.data / "runtime/reaper.json").read_bytes())["pid"]
    os.kill(reaper, signal.SIGKILL)
    lines = len(node.log("chatty").splitlines())
    await until(lambda: len(node.log("chatty").splitlines()) > lines + 20, "logging goes on")
    numbers = [int(line.split()[3]) for line in node.log("chatty").splitlines()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert node.worker("chatty").runs.latest["main"].pid == pid


async def test_removing_all_pods_of_a_node_leaves_nothing_not_even_the_reaper(
    data: Path, images: Path
) -> None:
    async with Node(data, images).running() as first:
        pod = first.put("left", containers=[HOSTNAMES])
        await first.ready("left")
    reaper = msgspec.json.decode((data / "runtime/reaper.json").read_bytes())["pid"]
    await clean_up(data)
    found = traces(data)
    assert {kind: entries for kind, entries in found.items() if entries and kind != "devices"} == {}
    assert not namespaces.exists(names_for(pod.metadata.uid)[0])
    assert not process_exists(reaper)
