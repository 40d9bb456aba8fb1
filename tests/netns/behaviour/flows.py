"""The story of UDP clients that never stop sending, with real datagrams."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from fairway.kernel import namespaces
from tests.behaviour.expectations import Answer, Case, Kind
from tests.behaviour.flows import CLIENTS, SERVICE, STORY, Step, check_name
from tests.behaviour.places import OUTSIDE
from tests.behaviour.services import SERVICES, Behind, Given

from .fleet import Fleet
from .packets import again, opened
from .world import World

PATIENCE, SILENCE = 20.0, 1.2


def run_story(built: World, proxies: Fleet) -> Iterator[tuple[str, str]]:
    """What is wrong with each check, by its name."""
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(len(CLIENTS)) as pool:
        sockets = [stack.enter_context(_opened(built, case)) for case in CLIENTS]
        for step in STORY:
            _change(proxies, step)
            patience = SILENCE if Kind.DROPPED in step.expected.kinds else PATIENCE
            for flow in sockets:
                flow.settimeout(patience)
            answers = list(pool.map(_ask, sockets))
            for case, answer in zip(CLIENTS, answers, strict=True):
                yield check_name(case, step), _judge(answer, step)


@contextlib.contextmanager
def _opened(built: World, case: Case) -> Iterator[socket.socket]:
    source = case.source if case.row.client in OUTSIDE else ""

    def enter() -> socket.socket:
        return stack.enter_context(opened("udp", *case.destination, source, PATIENCE))

    with contextlib.ExitStack() as stack:
        yield namespaces.run_inside(built.clients[case.row.client].path, enter)


def _change(proxies: Fleet, step: Step) -> None:
    if step.endpoints is None:
        proxies.delete(SERVICES[SERVICE])
    else:
        proxies.put(Given(SERVICE, tuple(Behind(name) for name in step.endpoints)))


def _ask(flow: socket.socket) -> Answer:
    """An error that the datagram before caused is told to the next one: twice, then."""
    first = again(flow)
    return again(flow) if first.kind is Kind.REFUSED else first


def _judge(answer: Answer, step: Step) -> str:
    if answer.kind not in step.expected.kinds:
        return f"{answer.kind} {answer.name}"
    return "" if answer.name in {"", *step.expected.endpoints} else f"reached {answer.name}"
