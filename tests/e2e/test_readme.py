"""What the README tells people to type works."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def commands(heading: str) -> str:
    """The indented block below a heading."""
    text = (ROOT / "README.md").read_text()
    section = text.partition(f"## {heading}\n")[2]
    found = re.match(r"\n((?:    .*\n)+)", section)
    assert found, f"no commands below {heading!r}"
    return "".join(line[4:] for line in found[1].splitlines(keepends=True))


def test_the_commands_to_use_it_by_hand_work_as_they_stand(tmp_path: Path) -> None:
    script = "set -ex\n" + commands("By hand")
    assert "fairway up" in script
    assert "fairway down" in script
    environment = {**os.environ, "HOME": str(tmp_path)}
    try:
        done = subprocess.run(
            ["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
        )
    finally:
        subprocess.run([ROOT / ".venv/bin/fairway", "down"], env=environment, check=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "<html>" in done.stdout.lower() or "nginx" in done.stdout.lower()


def test_the_demo_runs_to_its_end() -> None:
    done = subprocess.run(
        [ROOT / "examples/01-hostnames/demo", "--once"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "to the first answer through the virtual IP" in done.stdout
    assert "session" in done.stdout.lower()
    assert "Things to try" in done.stdout
    assert "down in" in done.stdout
