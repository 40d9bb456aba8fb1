"""Failed tests show the log of the API server they used; an nginx for those that want one."""

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.component.ingress_under_test import Front, front
from tests.conformance.server import pytest_runtest_makereport

__all__ = ["pytest_runtest_makereport"]


@pytest.fixture
async def served() -> AsyncIterator[Front]:
    """nginx with nothing behind it yet, in a folder that its workers can get at when they aren't root."""
    with tempfile.TemporaryDirectory(prefix="fairway-test.") as folder:
        os.chmod(folder, 0o755)  # noqa: S103
        async with front(Path(folder) / "nginx") as made:
            yield made
