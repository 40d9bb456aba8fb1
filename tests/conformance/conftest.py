"""Failed tests show the log of the API server they used."""

from tests.conformance.server import pytest_runtest_makereport

__all__ = ["pytest_runtest_makereport"]
