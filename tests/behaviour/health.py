"""The sibling of the behaviour table for health-check node ports: who asks which node, and what it says.

A load balancer asks the nodes, over HTTP, for the endpoints that a Service with policy Local for clients
outside has there. The answer is the node's own, so there is no endpoint to reach and no packet tracer to ask;
it must be the same in all proxy modes, for everyone and in both families.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .places import CLIENTS, Address, gateway, lan_address
from .services import health_check_port

# What is answered, or that nobody listens.
HERE, ELSEWHERE, CLOSED = 200, 503, 0


@dataclass(frozen=True, slots=True)
class HealthRow:
    """`to`: a node, by its address in the LAN; or `gateway@` a node, by its address among its Pods."""

    service: str
    client: str
    to: str
    status: int
    endpoints: int = 0

    def cases(self) -> Iterator[HealthCase]:
        for family in (4, 6):
            yield HealthCase(self, family)


@dataclass(frozen=True, slots=True)
class HealthCase:
    row: HealthRow
    family: int

    @property
    def name(self) -> str:
        row = self.row
        return f"health of {row.service}: {row.client} to {row.to}, {self.family}"

    @property
    def source(self) -> str:
        return CLIENTS[self.row.client].of(self.family)

    @property
    def destination(self) -> tuple[str, int]:
        return _address(self.row.to).of(self.family), health_check_port(self.row.service)


def _address(to: str) -> Address:
    kind, _, node = to.rpartition("@")
    return gateway(node) if kind == "gateway" else lan_address(node)


def _about(service: str, *lines: tuple[str, str, int, int]) -> Iterator[HealthRow]:
    for client, to, status, endpoints in lines:
        yield HealthRow(service, client, to, status, endpoints)


# Columns: client, node, status, endpoints that it tells of.
ROWS: tuple[HealthRow, ...] = (
    *_about(
        "outside-local",
        ("outside", "node-1", HERE, 2),
        ("outside", "node-2", HERE, 1),
        ("outside", "node-3", ELSEWHERE, 0),
        ("outside", "gateway@node-1", HERE, 2),
        ("1c", "node-1", HERE, 2),
        ("1c", "node-3", ELSEWHERE, 0),
        ("3c", "node-3", ELSEWHERE, 0),
        ("3c", "node-1", HERE, 2),
        # An endpoint of the Service itself.
        ("1a", "node-1", HERE, 2),
        ("node-1", "node-1", HERE, 2),
        ("node-3", "node-3", ELSEWHERE, 0),
        ("node-3", "node-2", HERE, 1),
        ("node-1", "node-3", ELSEWHERE, 0),
    ),
    # Both policies; the one for clients inside says nothing here.
    *_about(
        "local",
        ("outside", "node-1", HERE, 1),
        ("outside", "node-2", HERE, 1),
        ("outside", "node-3", ELSEWHERE, 0),
    ),
    *_about(
        "empty-local",
        ("outside", "node-1", ELSEWHERE, 0),
        ("1c", "node-1", ELSEWHERE, 0),
        ("node-3", "node-3", ELSEWHERE, 0),
    ),
    # An endpoint that is going away still serves, but no new client should be sent there.
    *_about(
        "leaving-local",
        ("outside", "node-1", ELSEWHERE, 0),
        ("outside", "node-2", HERE, 1),
        ("outside", "node-3", ELSEWHERE, 0),
    ),
    # Hints are for clients inside.
    *_about("zone-outside-local", ("outside", "node-1", HERE, 1), ("outside", "node-3", HERE, 1)),
    *_about("sticky-local", ("outside", "node-1", HERE, 2), ("outside", "node-3", ELSEWHERE, 0)),
    # Who may not use the balancer's address may ask all the same: balancers have addresses of their own.
    *_about(
        "guarded-local",
        ("outside", "node-1", HERE, 1),
        ("stranger", "node-1", HERE, 1),
        ("stranger", "node-3", ELSEWHERE, 0),
    ),
    # With policy Cluster every node will do, and there is nothing to ask.
    *_about("everywhere", ("outside", "node-1", CLOSED, 0), ("1c", "node-2", CLOSED, 0)),
)

# The same Service after its endpoints have moved, and once it is gone.
MOVING = "outside-local"
MOVED_TO = ("3a",)
MOVED: tuple[HealthRow, ...] = tuple(
    _about(
        MOVING,
        ("outside", "node-1", ELSEWHERE, 0),
        ("outside", "node-3", HERE, 1),
        ("3c", "node-3", HERE, 1),
    )
)
DELETED: tuple[HealthRow, ...] = tuple(
    _about(MOVING, ("outside", "node-1", CLOSED, 0), ("outside", "node-3", CLOSED, 0))
)

HEALTH: tuple[HealthCase, ...] = tuple(case for row in ROWS for case in row.cases())
STEPS: dict[str, tuple[HealthCase, ...]] = {
    "after its endpoints have moved": tuple(case for row in MOVED for case in row.cases()),
    "after it was deleted": tuple(case for row in DELETED for case in row.cases()),
}


def step_name(case: HealthCase, step: str) -> str:
    return f"{case.name}, {step}"


HEALTH_CHECKS = (
    *(case.name for case in HEALTH),
    *(step_name(case, step) for step, cases in STEPS.items() for case in cases),
)
