"""The machine that other tests run their programs in."""

from __future__ import annotations

import json
import platform
from pathlib import Path

from .machine import run_in_uml


def test_a_program_runs_on_a_kernel_of_its_own_with_ipvs_and_cannot_harm_the_host(tmp_path: Path) -> None:
    outcome = run_in_uml("tests.uml.hello", "a b", "'c", shared=tmp_path)
    report = json.loads(outcome.output)
    assert report.pop("kernel") != platform.release()
    assert report == {
        "arguments": ["a b", "'c"],
        "servers": "TCP  10.96.0.1:80 rr",
        "repository is writable": False,
    }
    assert outcome.status == 3
    assert (tmp_path / "note").read_text() == "kept"
    assert not Path(__file__).with_name("hello.new").exists()


def test_the_clock_of_a_machine_may_go_slower_than_ours(tmp_path: Path) -> None:
    outcome = run_in_uml("tests.uml.slow_second", shared=tmp_path, slowness=4)
    assert 1 <= float(outcome.check()) < 4
    begun, ended = ((tmp_path / name).stat().st_mtime for name in ("begun", "ended"))
    assert ended - begun >= 4


def test_a_machine_that_takes_too_long_is_switched_off(tmp_path: Path) -> None:
    outcome = run_in_uml("tests.uml.hello", timeout=0.5, shared=tmp_path)
    assert outcome.status is None
    assert "switched off after 0.5 seconds" in outcome.console
