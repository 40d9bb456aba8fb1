"""iptables' own programs for reading and writing rules, in the network namespace of the calling thread.

Whichever flavour of iptables the host has chosen is used, so that all rules are where its owner looks for
them. What the rules mean is for others. The fake is in `fake_iptables`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from fairway.kernel.iptables import IptablesError

T = TypeVar("T")
_SAVE = {4: "iptables-save", 6: "ip6tables-save"}
_RESTORE = {4: "iptables-restore", 6: "ip6tables-restore"}


class IptablesRestore(Protocol):
    def save(self, version: int) -> dict[str, list[str]]:
        """The lines that define chains and rules, by table. Empty where the kernel has no such IP version."""

    def restore(self, version: int, text: str) -> None:
        """Carry out the text, each table as a whole. Chains that it names are emptied first, no others."""


class HostIptables:
    def __init__(self, inside: Callable[[Callable[[], str]], str] = lambda work: work()) -> None:
        """`inside` calls a function in another namespace, for those who aren't where the rules belong."""
        self._inside = inside

    def save(self, version: int) -> dict[str, list[str]]:
        return parse_save(self._run([_SAVE[version]]))

    def restore(self, version: int, text: str) -> None:
        self._run([_RESTORE[version], "--noflush", "--wait", "30"], text)

    def _run(self, command: Sequence[str], given: str = "") -> str:
        return self._inside(lambda: _run(command, given))


def _run(command: Sequence[str], given: str) -> str:
    program = shutil.which(command[0])
    if program is None:
        raise IptablesError(f"there is no {command[0]} on this host: install the package iptables")
    done = subprocess.run(
        [program, *command[1:]], input=given, text=True, capture_output=True, check=False, timeout=60
    )
    if done.returncode:
        raise IptablesError(f"{os.path.basename(program)} failed: {done.stderr.strip()}")
    return done.stdout


def parse_save(text: str) -> dict[str, list[str]]:
    """Without the counters of chains, which change with every packet."""
    tables: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith("*"):
            current = tables.setdefault(line[1:], [])
        elif line.startswith(":"):
            current.append(" ".join(line.split()[:2]))
        elif line.startswith("-A"):
            current.append(line)
    return tables
