"""Runs the behaviour table in one proxy mode, with real packets, many cases at once.

`python -m tests.netns.behaviour.table MODE` prints one JSON object a case, for where there is no pytest.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from fairway.kernel import namespaces
from tests.behaviour.expectations import Answer, Case, Expected, Kind
from tests.behaviour.places import OUTSIDE
from tests.behaviour.rows import SETTINGS, TABLE
from tests.behaviour.services import SERVICES

from .fairness import fairness
from .fleet import Fleet, fleet
from .flows import run_story
from .health import health
from .packets import ask
from .world import World, has_sctp, world

# Seconds. An answer may take long on a busy machine; silence is only waited for where it is expected.
PATIENCE, SILENCE = 20.0, 1.2
AT_ONCE = 24

Results = dict[str, str]


def possible_cases(mode: str, sctp: bool) -> tuple[Case, ...]:
    """Those of the table that a kernel, with SCTP or without, can send packets for."""
    return tuple(case for case in TABLE if case.is_possible(mode) and (sctp or case.protocol != "sctp"))


def run_table(mode: str) -> Results:
    return dict(checks(mode))


def checks(mode: str) -> Iterator[tuple[str, str]]:
    """What is wrong with each case and each check of health, flows and fairness; empty where nothing is."""
    with world() as built, fleet(built, mode) as proxies:
        proxies.put(*SERVICES.values())
        yield from _checks(built, proxies, mode)


def _checks(built: World, proxies: Fleet, mode: str) -> Iterator[tuple[str, str]]:
    cases = possible_cases(mode, has_sctp())
    for setting, changes in SETTINGS.items():
        if setting:
            proxies.configure(**changes)
        yield from _cases(built, mode, [case for case in cases if case.row.setting == setting])
    proxies.configure()
    yield from health(built, proxies)
    yield from run_story(built, proxies)
    yield from fairness(built, proxies, mode)


def _cases(built: World, mode: str, cases: list[Case]) -> Iterator[tuple[str, str]]:
    # Those that wait go first, so that the others run in the meantime.
    cases.sort(key=lambda case: case.expects(mode).reaches)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [(case, pool.submit(_run, built, case, mode)) for case in cases]
        for case, run in runs:
            yield case.name, run.result()


def _run(built: World, case: Case, mode: str) -> str:
    namespaces.enter_path(built.clients[case.row.client].path)
    try:
        return case.judge(list(_answers(case, case.expects(mode))), mode)
    except OSError as error:
        return f"could not ask: {error}"


def _answers(case: Case, expected: Expected) -> Iterator[Answer]:
    """Enough of them: until every endpoint has answered, and a few more to see that no other does."""
    source = case.source if case.row.client in OUTSIDE else ""
    patience = SILENCE if Kind.DROPPED in expected.kinds else PATIENCE
    wanted, asked = set(expected.endpoints), 0
    least, most = (8 if expected.sticky else len(wanted) + 1), 40 * len(wanted) + 1
    while asked < least or (wanted and asked < most and not expected.sticky):
        answer = ask(case.protocol, *case.destination, source, patience)
        yield answer
        if answer.kind is not Kind.REACHED:
            return
        wanted.discard(answer.name)
        asked += 1


def main(mode: str) -> None:
    began = time.monotonic()
    for name, wrong in checks(mode):
        at = round(time.monotonic() - began, 1)
        sys.stdout.write(json.dumps({"case": name, "wrong": wrong, "at": at}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
