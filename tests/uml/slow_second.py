"""The program for user-mode Linux: marks the beginning and the end of a second, and says how long it was."""

from __future__ import annotations

import sys
import time
from pathlib import Path


def main() -> None:
    job = Path("/run/job")
    (job / "begun").touch()
    began = time.monotonic()
    time.sleep(1)
    lasted = time.monotonic() - began
    (job / "ended").touch()
    sys.stdout.write(f"{lasted}\n")


if __name__ == "__main__":
    main()
