"""The program for user-mode Linux: says what it was asked, by which kernel, and what it may touch."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path


def main() -> int:
    subprocess.run(["ip", "link", "add", "kube-ipvs0", "type", "dummy"], check=True)
    subprocess.run(["ipvsadm", "-A", "-t", "10.96.0.1:80", "-s", "rr"], check=True)
    listed = subprocess.run(["ipvsadm", "-ln"], check=True, capture_output=True, text=True).stdout
    try:
        made = Path(__file__).with_suffix(".new")
        made.touch()
        made.unlink()
        writable = True
    except OSError:
        writable = False
    Path("/run/job/note").write_text("kept")
    report = {
        "arguments": sys.argv[1:],
        "kernel": platform.release(),
        "servers": listed.splitlines()[-1],
        "repository is writable": writable,
    }
    sys.stdout.write(json.dumps(report) + "\n")
    return 3


if __name__ == "__main__":
    sys.exit(main())
