"""Which lesser user a program can run as."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fairway.kernel.users import lesser_user

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")


@ROOT
def test_the_first_that_there_is() -> None:
    found = lesser_user("no-such-user", "nobody", "root")
    assert found
    assert found.pw_name == "nobody"


@ROOT
def test_in_a_namespace_of_our_own_there_is_nobody_else() -> None:
    asked = "from fairway.kernel.users import lesser_user; print(lesser_user('nobody'))"
    inside = ["unshare", "--user", "--map-root-user", sys.executable, "-c", asked]
    assert subprocess.check_output(inside, text=True).strip() == "None"
