"""The ipvs mode on a real kernel with real packets: all checks that `ipvs_checks` lists, in one machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .ipvs_checks import CHECKS
from .machine import run_in_uml


@pytest.fixture(scope="module")
def lines() -> dict[str, dict[str, Any]]:
    outcome = run_in_uml("tests.uml.ipvs_checks", timeout=900)
    found: dict[str, dict[str, Any]] = {}
    for line in outcome.output.splitlines():
        if line.startswith("{"):
            entry = json.loads(line)
            found[entry.get("check", "")] = entry
    missing = CHECKS.keys() - found
    assert not missing, f"no word of {sorted(missing)}\n{outcome.output}\n--- console\n{outcome.console}"
    return found


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.timeout(1000)
def test(check: str, lines: dict[str, dict[str, Any]]) -> None:
    if error := lines[check].get("error"):
        pytest.fail(error)
