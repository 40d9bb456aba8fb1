"""What the rules of an nftables table come down to, and the same tables with other rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from fairway.kernel.fake_nftables import FakeTable
from fairway.testing.nftables_tracer import Tables

# Only packets that belong to no connection come here; the real kernel is asked about those.
FOR_INVALID = ("stray", "unroutable")
RuleChange = Callable[[list[str]], list[str]]


def shape(rule: str) -> str:
    """What is alike in rules that differ only in counts and protocols."""
    return re.sub(r"\b(mod \d+|udp|sctp|tcp(?! reset))\b", "#", rule)


def shapes(table: FakeTable, unseen: tuple[str, ...]) -> list[str]:
    """Of all rules that a behaviour table could notice, but for those that begin with something unseen."""
    seen = (rules for name, rules in table.chains.items() if name not in FOR_INVALID)
    return sorted({shape(rule) for rules in seen for rule in rules if not shape(rule).startswith(unseen)})


def changed(tables: Tables, change: RuleChange) -> dict[tuple[str, str], FakeTable]:
    return {
        key: replace(table, chains={name: change(rules) for name, rules in table.chains.items()})
        for key, table in tables.items()
    }
