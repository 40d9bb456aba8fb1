"""The recorded rules of kube-proxy in iptables mode: the cases, and what each means for our proxy."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from fairway.api.objects import EndpointSlice, Service
from fairway.proxy.changes import Tracker
from fairway.proxy.model import ZONE_LABEL
from fairway.proxy.settings import LocalDetection, Settings
from fairway.proxy.topology import Place

GOLDEN = Path(__file__).parent / "golden"
NODE = "n1"
ADDRESSES = ("192.168.78.2", "fd00:78::2")
TABLES = ("nat", "filter", "mangle")

Case = dict[str, Any]


@cache
def normaliser() -> ModuleType:
    """A program for itself, not part of a package."""
    spec = importlib.util.spec_from_file_location("normalise_iptables", GOLDEN / "normalise_iptables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases() -> list[Case]:
    lines = (GOLDEN / "proxy_iptables.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def settings(case: Case) -> Settings:
    """What the flags of a case mean on its node."""
    flags = dict(flag.removeprefix("--").split("=", 1) for flag in case["flags"])
    detection = LocalDetection(flags.pop("detect-local-mode", "ClusterCIDR"))
    cidrs = _words(flags.pop("cluster-cidr", ""))
    if detection is LocalDetection.NODE_CIDR:
        cidrs = tuple(_node(case)["spec"]["podCIDRs"])
    nodeports = _words(flags.pop("nodeport-addresses", ""))
    if nodeports == ("primary",):
        nodeports = ADDRESSES
    found = Settings(
        cluster_cidrs=cidrs,
        nodeport_addresses=nodeports,
        masquerade_all=flags.pop("masquerade-all", "") == "true",
        masquerade_bit=int(flags.pop("iptables-masquerade-bit", "14")),
        detection=detection,
        pod_interface=flags.pop("pod-interface-name-prefix", "") or flags.pop("pod-bridge-interface", ""),
        localhost_nodeports=flags.pop("iptables-localhost-nodeports", "true") == "true",
        node_ips=ADDRESSES,
    )
    assert not flags, f"unknown flags: {flags}"
    return found


def tracker(case: Case) -> Tracker:
    """With all Services and slices of a case taken in."""
    found = Tracker(Place(NODE, _node(case)["metadata"]["labels"].get(ZONE_LABEL, "")))
    for manifest in case["objects"]:
        feed(found, manifest)
    return found


def feed(into: Tracker, manifest: dict[str, Any]) -> None:
    meta = manifest["metadata"]
    key = f"{meta.get('namespace', '')}/{meta['name']}"
    if manifest["kind"] == "Service":
        into.service_changed(key, None, msgspec.convert(manifest, Service))
    elif manifest["kind"] == "EndpointSlice":
        into.slice_changed(key, None, msgspec.convert(manifest, EndpointSlice))


def expected(case: Case) -> Iterator[tuple[int, dict[str, list[str]]]]:
    """The recorded tables by IP version."""
    yield 4, {table: case["expect"][table] for table in TABLES}
    if case["ipv6"]:
        yield 6, {table: case["expect"][f"{table}6"] for table in TABLES}


def _node(case: Case) -> dict[str, Any]:
    return next(found for found in case["objects"] if found["kind"] == "Node")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)
