"""The addresses that this network namespace answers to, as the kernel's own tables list them."""

from __future__ import annotations

import ipaddress
from pathlib import Path

_NET = Path("/proc/thread-self/net")


def local_addresses() -> frozenset[str]:
    return parse_fib_trie(_read("fib_trie")) | parse_if_inet6(_read("if_inet6"))


def parse_fib_trie(text: str) -> frozenset[str]:
    """Lines `|-- 10.0.0.1` that are followed by `/32 host LOCAL`."""
    found: set[str] = set()
    address = ""
    for line in text.splitlines():
        if "|-- " in line:
            address = line.split("|-- ", 1)[1].strip()
        elif "/32 host LOCAL" in line:
            found.add(address)
    return frozenset(found)


def parse_if_inet6(text: str) -> frozenset[str]:
    """Each line begins with the address as 32 hexadecimal digits."""
    lines = [line.split() for line in text.splitlines()]
    return frozenset(str(ipaddress.IPv6Address(int(words[0], 16))) for words in lines if words)


def _read(name: str) -> str:
    try:
        return (_NET / name).read_text()
    except FileNotFoundError:
        # A kernel without IPv6 has no such table.
        return ""
