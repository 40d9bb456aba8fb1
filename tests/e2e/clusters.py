"""A cluster for a test: brought up and taken down with the commands a user types."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FAIRWAY = str(Path(sys.executable).with_name("fairway"))
PATIENCE = 60.0


@dataclass(frozen=True)
class Cluster:
    data: Path
    proxy_mode: str = "nftables"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.data / "kubeconfig")}

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, timeout=120
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def up(self, *options: str) -> str:
        return self.run(FAIRWAY, "up", "--data", str(self.data), "--detach", *options).stdout

    def down(self) -> str:
        return self.run(FAIRWAY, "down", "--data", str(self.data)).stdout

    def kubectl(self, *arguments: str) -> str:
        return self.run("kubectl", *arguments).stdout.strip()

    def exec(self, pod: str, *command: str) -> str:
        return self.run(FAIRWAY, "exec", pod, "--", *command).stdout

    def logs(self) -> str:
        return "\n".join(
            f"--- {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-30:])
            for path in sorted((self.data / "logs").glob("*.log"))
        )


def eventually(check: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not check():
        assert time.monotonic() < deadline, f"still not so after {patience:.0f} s: {what}"
        time.sleep(0.05)
