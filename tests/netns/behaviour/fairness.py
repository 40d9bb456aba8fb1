"""How evenly a mode spreads connections: by chance, or exactly in turn where it promises that."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from fairway.kernel import namespaces
from tests.behaviour.expectations import Kind, destination

from .fleet import Fleet
from .packets import ask
from .world import World

CONNECTIONS, ENDPOINTS, DEVIATIONS = 3000, ("1a", "2a", "3a"), 4
CLIENT, SERVICE, PATIENCE = "1c", "everywhere", 20.0
EVENLY = f"{CONNECTIONS} connections go to each of {len(ENDPOINTS)} endpoints equally often, by {{}}"
IN_TURN = "connections take turns exactly, by {}"
# What makes a mode take turns. Others choose by chance alone.
ROUND_ROBIN = {"nftables": {"round_robin": True}, "userspace": {}, "ipvs": {}}
WAYS = {"TCP 4": ("tcp", 4), "TCP 6": ("tcp", 6)}


def fairness_checks(mode: str) -> tuple[str, ...]:
    in_turn = tuple(IN_TURN.format(way) for way in WAYS) if mode in ROUND_ROBIN else ()
    return (EVENLY.format("TCP 4"), *in_turn)


def fairness(built: World, proxies: Fleet, mode: str) -> Iterator[tuple[str, str]]:
    asking = _asking(built, *WAYS["TCP 4"])
    # What is left to chance may go wrong once in five thousand runs; twice in a row, it isn't chance.
    yield EVENLY.format("TCP 4"), _uneven(asking) and _uneven(asking)
    if mode in ROUND_ROBIN:
        proxies.configure(**ROUND_ROBIN[mode])
        for way, how in WAYS.items():
            yield IN_TURN.format(way), _out_of_turn(_asking(built, *how))


def _asking(built: World, protocol: str, family: int) -> Callable[[int], list[str]]:
    """Makes so many connections, one after the other, and says whom they reached."""
    address, port = destination(SERVICE, "cluster", family)

    def connect(count: int) -> list[str]:
        answers = [ask(protocol, address, port, "", PATIENCE) for _ in range(count)]
        return [answer.name if answer.kind is Kind.REACHED else str(answer.kind) for answer in answers]

    return lambda count: namespaces.run_inside(built.clients[CLIENT].path, lambda: connect(count))


def _uneven(asking: Callable[[int], list[str]]) -> str:
    with ThreadPoolExecutor(4) as pool:
        counts = Counter(name for names in pool.map(asking, [CONNECTIONS // 4] * 4) for name in names)
    share = 1 / len(ENDPOINTS)
    allowed = DEVIATIONS * math.sqrt(CONNECTIONS * share * (1 - share))
    fair = set(counts) == set(ENDPOINTS) and all(
        abs(count - CONNECTIONS * share) <= allowed for count in counts.values()
    )
    return "" if fair else f"{dict(counts)}, each of which may be {allowed:.0f} off"


def _out_of_turn(asking: Callable[[int], list[str]]) -> str:
    names = asking(5 * len(ENDPOINTS))
    turn = names[: len(ENDPOINTS)]
    return "" if set(turn) == set(ENDPOINTS) and names == turn * 5 else " ".join(names)
