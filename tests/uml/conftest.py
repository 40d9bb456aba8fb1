"""Everything here needs the kernel of the package user-mode-linux; without it the tests are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from .machine import is_available


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and not is_available():
            item.add_marker(pytest.mark.skip(reason="needs the package user-mode-linux"))
