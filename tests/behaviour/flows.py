"""What becomes of UDP clients that never stop sending while endpoints come and go (spec 4.8).

A story for one Service, told to many clients at once; each keeps its port and with it the kernel's flow.
"""

from __future__ import annotations

from dataclasses import dataclass

from .expectations import REFUSED, UNANSWERED, Case, Expected, Row, reaches

SERVICE = "flowing"


@dataclass(frozen=True, slots=True)
class Step:
    """The endpoints from now on, None once the Service is deleted; and what every client must find then."""

    title: str
    endpoints: tuple[str, ...] | None
    expected: Expected


STORY = (
    Step("an endpoint answers", ("1a",), reaches("1a")),
    Step("a flow stays as long as its endpoint does", ("1a", "2a"), reaches("1a")),
    Step("a flow moves on when its endpoint goes", ("2a",), reaches("2a")),
    Step("a flow is refused when the last endpoint goes", (), REFUSED),
    Step("a flow is served when one comes again", ("3a",), reaches("3a")),
    Step("a flow ends with its Service", None, UNANSWERED),
)

CLIENTS = tuple(
    Case(Row(SERVICE, client, to, UNANSWERED), "udp", family)
    for client, to in (
        ("outside", "cluster"),
        ("outside", "node-port@node-1"),
        ("outside", "node-port@node-3"),
        ("outside", "external@node-2"),
        ("outside", "balancer@node-1"),
        ("1c", "cluster"),
        ("3c", "node-port@node-3"),
        ("node-2", "cluster"),
        ("node-1", "node-port@node-1"),
    )
    for family in (4, 6)
)


def check_name(case: Case, step: Step) -> str:
    return f"{step.title}: {case.row.client} to {case.row.to}, udp {case.family}"


CHECKS = tuple(check_name(case, step) for step in STORY for case in CLIENTS)
