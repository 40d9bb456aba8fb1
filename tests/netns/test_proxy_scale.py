"""Ten thousand Services on a real kernel: how long everything takes, and one change more."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Iterator

import msgspec
import pytest

from fairway.api.objects import EndpointSlice, Service
from fairway.kernel.conntrack import KernelConntrack
from fairway.kernel.local_addresses import local_addresses
from fairway.kernel.nftables import LibNftables
from fairway.proxy.changes import Tracker
from fairway.proxy.nftables.applier import Applier, Kernel
from fairway.proxy.nftables.ruleset import TABLE
from fairway.proxy.settings import Settings
from fairway.proxy.topology import Place

from .topology import Namespace

SERVICES = 10_000


def service(number: int) -> Service:
    ip = f"10.96.{number >> 8}.{number & 255}"
    spec = {"clusterIP": ip, "clusterIPs": [ip], "ports": [{"name": "http", "port": 80}]}
    return msgspec.convert(
        {"metadata": {"name": f"s{number}", "namespace": "default"}, "spec": spec}, Service
    )


def endpoint_slice(number: int, count: int = 2) -> EndpointSlice:
    first = number * 4
    entries = [
        {
            "addresses": [f"10.{244 + (n >> 16)}.{n >> 8 & 255}.{n & 255}"],
            "nodeName": f"n{n % 10}",
            "conditions": {"ready": True},
        }
        for n in range(first, first + count)
    ]
    meta = {
        "name": f"s{number}-x",
        "namespace": "default",
        "labels": {"kubernetes.io/service-name": f"s{number}"},
    }
    ports = [{"name": "http", "port": 9376, "protocol": "TCP"}]
    return msgspec.convert({"metadata": meta, "endpoints": entries, "ports": ports}, EndpointSlice)


class Loaded:
    def __init__(self, space: Namespace) -> None:
        self.services = [service(number) for number in range(SERVICES)]
        self.slices = [endpoint_slice(number) for number in range(SERVICES)]
        self.kernel = Kernel(space.run(LibNftables), space.run(KernelConntrack), local_addresses)
        self.tracker = Tracker(Place("n1"))
        settings = Settings(cluster_cidrs=("10.244.0.0/14",), service_ranges=("10.96.0.0/16",))
        self.applier = Applier(self.kernel, settings, "n1")

    def load(self) -> None:
        for number in range(SERVICES):
            self.tracker.service_changed(f"default/s{number}", None, self.services[number])
            self.tracker.slice_changed(f"default/s{number}-x", None, self.slices[number])
        self.applier.synchronise(self.tracker.take())

    def change(self, number: int, count: int) -> None:
        new = endpoint_slice(number, count)
        self.tracker.slice_changed(f"default/s{number}-x", self.slices[number], new)
        self.slices[number] = new
        self.applier.apply(self.tracker.take())


@pytest.fixture(scope="module")
def space() -> Iterator[Namespace]:
    created = Namespace("scale")
    yield created
    created.close()


@pytest.fixture
def loaded(space: Namespace) -> Iterator[Loaded]:
    prepared = Loaded(space)
    yield prepared
    prepared.kernel.nftables.close()
    prepared.kernel.conntrack.close()


def test_ten_thousand_services_are_loaded_changed_and_checked_by_few_rules(
    space: Namespace, loaded: Loaded
) -> None:
    gc.collect()
    gc.freeze()
    began = time.perf_counter()
    loaded.load()
    whole = time.perf_counter() - began
    times = []
    for number in range(100):
        began = time.perf_counter()
        loaded.change(SERVICES // 2 + number, 3)
        times.append(time.perf_counter() - began)
    space.command("nft", "add", "table", "ip", "somebody")
    began = time.perf_counter()
    assert loaded.applier.is_intact()
    check = time.perf_counter() - began
    objects = loaded.kernel.nftables.query(f"list table ip {TABLE}")
    chains, rules = (sum(kind in entry for entry in objects) for kind in ("chain", "rule"))
    change = statistics.median(times)
    sys.stdout.write(
        f"\n{SERVICES} Services x 2 endpoints: all {whole:.2f} s, one change {change * 1e3:.2f} ms "
        f"(worst {max(times) * 1e3:.2f} ms), check after a foreign change {check * 1e3:.0f} ms, "
        f"{chains} chains, {rules} rules\n"
    )
    gc.unfreeze()
    assert chains < 20
    assert rules < 40
