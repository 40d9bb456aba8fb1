"""iptables: one interface, and the kernel's own through the programs `iptables-nft` and `ip6tables-nft`.

Always the variant on nf_tables, never legacy: it commits without rewriting whole tables, and every change by
anyone raises a number that can be asked for. What is restored, saved and listed has the text form of
`iptables-save`; what it means belongs to those who write it. The fake is in `fake_iptables`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Protocol

from fairway.kernel import namespaces, nfnetlink
from fairway.kernel.errors import KernelError
from fairway.kernel.nftables import generation

TABLES = ("filter", "nat", "mangle")
_PROGRAMS = {4: "iptables-nft", 6: "ip6tables-nft"}
_FAMILIES = {4: 2, 6: 10}
_GET_CHAINS = (10 << 8) | 4
_CHAIN_TABLE, _CHAIN_NAME = 1, 3
# nf_tables has no such lock; the programs take the option all the same, and others than Debian's may need it.
_WAIT = ("-w", "5")
_FOLDERS = os.pathsep.join(("/usr/sbin", "/sbin", "/usr/bin", "/usr/local/sbin"))


class IptablesError(KernelError):
    """A program is missing, or a change was refused: nothing of it is in force in the table it was for."""


class Iptables(Protocol):
    """What the rest of Fairway may ask of iptables. Versions are those of IP: 4 or 6."""

    def restore(self, version: int, text: str) -> None:
        """Text for `iptables-restore --noflush`; each table in it is all or nothing."""

    def chains(self, version: int) -> Mapping[str, frozenset[str]]:
        """The names of all chains, by table."""

    def save(self, version: int) -> str:
        """All tables, as text."""

    def generation(self) -> int:
        """A number that rises with every transaction in this namespace, whoever makes it."""

    def close(self) -> None: ...


class NftIptables:
    """The real thing, in the network namespace of the thread that makes it, wherever it is used later."""

    def __init__(self) -> None:
        self._namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._socket = nfnetlink.Socket()

    def restore(self, version: int, text: str) -> None:
        done = self._run(f"{_program(version)}-restore", *_WAIT, "--noflush", "--counters", text=text)
        if done.returncode:
            raise IptablesError(explain(done.stderr, text))

    def chains(self, version: int) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = {table: set() for table in TABLES}
        for message in self._socket.dump(_GET_CHAINS, _FAMILIES[version]):
            parts = dict(nfnetlink.attributes(message))
            table, name = (_text(parts[kind]) for kind in (_CHAIN_TABLE, _CHAIN_NAME))
            if table in found:
                found[table].add(name)
        return {table: frozenset(known) for table, known in found.items()}

    def save(self, version: int) -> str:
        done = self._run(f"{_program(version)}-save")
        if done.returncode:
            raise IptablesError(explain(done.stderr))
        return done.stdout

    def generation(self) -> int:
        return generation(self._socket)

    def close(self) -> None:
        if self._namespace >= 0:
            os.close(self._namespace)
            self._namespace = -1
            self._socket.close()

    def _run(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        if self._namespace < 0:
            raise IptablesError("this handle is closed")
        # A child lives in the namespace of the thread that starts it.
        return namespaces.run_inside(
            Path(f"/proc/self/fd/{self._namespace}"),
            lambda: subprocess.run(arguments, input=text, text=True, check=False, capture_output=True),
        )


def explain(complaint: str, text: str = "") -> str:
    """What iptables said, with the line that it names."""
    lines, said = text.splitlines(), " ".join(complaint.split())[:500]
    named = re.search(r"line:? (\d+)", said)
    number = int(named.group(1)) if named else 0
    quoted = f": {lines[number - 1][:300]}" if 0 < number <= len(lines) else ""
    return f"{said or 'refused without a reason'}{quoted}"


@cache
def _program(version: int) -> str:
    name = _PROGRAMS[version]
    found = shutil.which(name) or shutil.which(name, path=_FOLDERS)
    if found is None:
        raise IptablesError(f"{name} is missing: install the package iptables")
    return found


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode()
