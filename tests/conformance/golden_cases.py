"""The recorded conversations with Kubernetes, and which of them are known not to hold.

    python -m tests.conformance.golden_cases --rewrite     # after a fix: lists what is still open

A case holds if every answer is the recorded one. For a deliberate deviation, listed with its reason in
docs/compatibility.md, it holds if the answer is the one promised there, and all others are as recorded.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.conformance.server import ApiServer, api_server

HERE = Path(__file__).parent
OPEN = HERE / "golden_open.txt"
COMPATIBILITY = HERE.parents[1] / "docs" / "compatibility.md"
DUAL_STACK = ("--service-cluster-ip-range", "10.96.0.0/16,fd00:10:96::/112")
CORPORA: Mapping[str, tuple[str, ...]] = {"api": (), "api-dualstack": DUAL_STACK}
"""Each corpus and the flags of the server it was recorded on."""

Case = dict[str, Any]


def load_replayer() -> ModuleType:
    """The replayer is a program for itself, not part of a package."""
    spec = importlib.util.spec_from_file_location("replay_api", HERE / "golden" / "replay_api.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REPLAYER = load_replayer()


def cases(corpus: str) -> list[Case]:
    lines = (HERE / "golden" / f"{corpus}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def open_cases() -> list[str]:
    return OPEN.read_text().split()


@dataclass(frozen=True, slots=True)
class Deviation:
    """Where Kubernetes answers one status and we, on purpose, another."""

    recorded: int
    ours: int


DEVIATION = re.compile(r"^\| `([\w/.-]+)` \| (\d{3}) \| (\d{3}) \|", re.MULTILINE)


def deviations() -> dict[str, Deviation]:
    rows = DEVIATION.findall(COMPATIBILITY.read_text())
    return {case: Deviation(int(recorded), int(ours)) for case, recorded, ours in rows}


def differences(case: Case, connection: Any, deviation: Deviation | None = None) -> list[str]:
    """What is not as recorded, or as promised; empty if the case holds."""
    failures = REPLAYER.run_case(case, connection, False)
    if deviation is None:
        return [text for number, line, found in failures for text in described(number, line, found)]
    promised = f"status: expected {deviation.recorded}, got {deviation.ours}"
    others = [failure for failure in failures if promised not in failure[2]]
    found = [text for number, line, texts in others for text in described(number, line, texts)]
    return found or ([] if failures else [f"no longer deviates; take it out of {COMPATIBILITY.name}"])


def described(number: int, line: str, found: list[str]) -> Iterator[str]:
    yield f"step {number}: {line}"
    yield from (f"    {text[:600]}" for text in found)


def connect(server: ApiServer) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves closing the file to the interpreter
        return REPLAYER.Server(str(server.kubeconfig))


def failing(corpus: str) -> Iterator[str]:
    known = deviations()
    with (
        tempfile.TemporaryDirectory(prefix="fairway-golden.") as folder,
        api_server(Path(folder), *CORPORA[corpus]) as server,
    ):
        connection = connect(server)
        for case in cases(corpus):
            if differences(case, connection, known.get(case["id"])):
                yield case["id"]
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Which recorded cases do not hold.")
    parser.add_argument("--rewrite", action="store_true", help=f"write {OPEN.name}, too")
    rewrite = parser.parse_args().rewrite
    still_open = [case for corpus in CORPORA for case in failing(corpus)]
    total = sum(len(cases(corpus)) for corpus in CORPORA)
    sys.stdout.write(f"{total - len(still_open)} of {total} cases hold\n")
    if rewrite:
        OPEN.write_text("".join(f"{case}\n" for case in still_open))


if __name__ == "__main__":
    main()
