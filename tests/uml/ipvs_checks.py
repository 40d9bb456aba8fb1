"""Real packets through the ipvs mode, inside user-mode Linux: every function `check_…` of the subjects listed
here is one promise.

Run by `test_ipvs.py`: builds one network, calls each check with it, and prints a line of JSON for each.
Arguments: the names of checks, or none for all.
"""

from __future__ import annotations

import subprocess
import sys
import time
import traceback
from collections.abc import Callable

from tests.netns.topology import TARGET, Network, network

from . import (
    checks_affinity,
    checks_changes,
    checks_cluster_ips,
    checks_counting,
    checks_histories,
    checks_outside,
    checks_servers,
    checks_tracer,
)
from .ipvs_nodes import IpvsFleet
from .report import report

SUBJECTS = (
    checks_cluster_ips,
    checks_outside,
    checks_affinity,
    checks_changes,
    checks_counting,
    checks_servers,
    checks_tracer,
    checks_histories,
)
CHECKS: dict[str, Callable[[Network, IpvsFleet], None]] = {
    key.removeprefix("check_"): value
    for subject in SUBJECTS
    for key, value in vars(subject).items()
    if key.startswith("check_")
}


def main(wanted: list[str]) -> None:
    # Else a bridge would carry answers from Pod to Pod of one node past the node's own translation.
    subprocess.run(["modprobe", "br_netfilter"], check=True)
    with network() as net:
        for _ in range(2):
            node = net.add_node()
            for letter in "ab":
                net.add_pod(node, f"web-{node.number}{letter}", TARGET)
        fleet = IpvsFleet(net)
        for key in wanted or CHECKS:
            began = time.monotonic()
            try:
                CHECKS[key](net, fleet)
                report(check=key, seconds=round(time.monotonic() - began, 2))
            except Exception:
                report(check=key, error=traceback.format_exc())
            fleet.reset()
        fleet.close()


if __name__ == "__main__":
    main(sys.argv[1:])
