"""Replays recorded cases of kube-proxy with the real commands, an API server and `fairway proxy`.

    python -m tests.conformance.replay_proxy [case…]        # as root; all cases take some minutes

The test suite plays only a few of them this way: what the rules are is tested without processes.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairway.api.resources import ENDPOINT_SLICES, NODES, SERVICES
from fairway.client import Client, ClientError, KubeConfig
from fairway.proxy.model import PROXY_NAME_LABEL
from tests.conformance.proxy_cases import ADDRESSES, NODE, Case, cases, expected, normaliser
from tests.netns.topology import Namespace

PROGRAM = "from fairway.cli.main import main; main()"
RESOURCES = {"Node": NODES, "Service": SERVICES, "EndpointSlice": ENDPOINT_SLICES}
RANGES = "10.96.0.0/16,fd00:96::/112"
PATIENCE = 60


@contextmanager
def recorded_machine() -> Iterator[Namespace]:
    """A namespace with the addresses of the machine that the cases were recorded on."""
    space = Namespace("golden")
    try:
        space.ip(
            "link add eth0 type veth peer name peer0",
            "link set peer0 up",
            f"addr add {ADDRESSES[0]}/24 dev eth0",
            f"addr add {ADDRESSES[1]}/64 dev eth0 nodad",
            "link set eth0 up",
        )
        yield space
    finally:
        space.close()


def replay(case: Case, folder: Path) -> str:
    """What differs in the end, in words; empty if the case holds."""
    with recorded_machine() as space:
        server = ("apiserver", "--data", str(folder), "--port", "6443", "--bind", "127.0.0.1")
        kubeconfig = folder / "kubeconfig"
        proxy = ("proxy", "--kubeconfig", str(kubeconfig), "--hostname-override", NODE)
        with _running(space, folder, *server, "--service-cluster-ip-range", RANGES):
            connection = _connection(kubeconfig)
            space.run(lambda: asyncio.run(_load(connection, case)))
            with _running(space, folder, *proxy, "--proxy-mode", "iptables", *case["flags"]):
                return _until_equal(space, case)


@contextmanager
def _running(space: Namespace, folder: Path, *arguments: str) -> Iterator[None]:
    with (folder / f"{arguments[0]}.log").open("ab") as log:
        command = ["nsenter", f"--net={space.path}", sys.executable, "-c", PROGRAM, *arguments]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _connection(kubeconfig: Path) -> KubeConfig:
    deadline = time.monotonic() + PATIENCE
    while not kubeconfig.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return KubeConfig.load(kubeconfig)


async def _load(connection: KubeConfig, case: Case) -> None:
    async with Client(connection, component="replay") as client:
        await _keep_own_service_out(client, time.monotonic() + PATIENCE)
        for manifest in case["objects"]:
            await _create(client, manifest)


async def _keep_own_service_out(client: Client, deadline: float) -> None:
    label = {"metadata": {"labels": {PROXY_NAME_LABEL: "none"}}}
    while True:
        try:
            await client.patch(SERVICES, "kubernetes", label, namespace="default")
            return
        except ClientError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)


async def _create(client: Client, manifest: dict[str, Any]) -> None:
    resource, meta = RESOURCES[manifest["kind"]], manifest["metadata"]
    body = {key: value for key, value in manifest.items() if key != "status"}
    await client.create(resource, body, namespace=meta.get("namespace"))
    if manifest.get("status"):
        status = {"status": manifest["status"]}
        where = {"namespace": meta.get("namespace"), "subresource": "status"}
        await client.patch(resource, meta["name"], status, **where)


def _until_equal(space: Namespace, case: Case) -> str:
    deadline = time.monotonic() + PATIENCE
    while True:
        found = "".join(_differences(space, case))
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


def _differences(space: Namespace, case: Case) -> Iterator[str]:
    for version, tables in expected(case):
        program = "iptables-save" if version == 4 else "ip6tables-save"
        found = normaliser().normalise(space.command(program))
        for table, rules in tables.items():
            if found[table] != rules:
                missing = [rule for rule in rules if rule not in found[table]]
                extra = [rule for rule in found[table] if rule not in rules]
                yield f"IPv{version} {table}: missing {missing}, extra {extra}\n"


def main() -> None:
    chosen = [case for case in cases() if not sys.argv[1:] or case["id"] in sys.argv[1:]]
    failed = 0
    for case in chosen:
        with tempfile.TemporaryDirectory() as folder:
            difference = replay(case, Path(folder))
        sys.stdout.write(f"{case['id']} {difference or 'holds'}\n")
        failed += bool(difference)
    sys.stdout.write(f"{len(chosen) - failed} of {len(chosen)} cases hold\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
