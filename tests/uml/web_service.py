"""What checks of the ipvs mode share beside the Service that they are about."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.netns.topology import TARGET, Pod
from tests.netns.web_service import spec

from .ipvs_nodes import IpvsFleet

Ask = Callable[..., str]


def balanced(fleet: IpvsFleet, chosen: list[Pod], **more: Any) -> None:
    """With the load balancer's address 203.0.113.19."""
    status = {"loadBalancer": {"ingress": [{"ip": "203.0.113.19"}]}}
    fleet.put("web", spec(type="LoadBalancer", **more), status)
    fleet.endpoints("web", chosen, TARGET)


@contextlib.contextmanager
def raising(kind: type[BaseException]) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


@contextlib.contextmanager
def only_the_first(fleet: IpvsFleet) -> Iterator[None]:
    """What is said inside is heard by the first node's proxy alone."""
    everyone, fleet.proxies = fleet.proxies, fleet.proxies[:1]
    try:
        yield
    finally:
        fleet.proxies = everyone


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.1)
