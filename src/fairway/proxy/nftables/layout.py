"""Which table the plans go to, and the constant chains in it.

The maps and the way Services are planned are the same wherever traffic is led by maps; another mode that
leads it elsewhere has a layout of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairway.proxy.model import Family
from fairway.proxy.nftables import ruleset
from fairway.proxy.nftables.transaction import Table
from fairway.proxy.settings import Settings


@dataclass(frozen=True, slots=True)
class Layout:
    table: str
    hooks: Mapping[str, str]
    """The chains that the kernel calls, with where it does."""
    chains: Callable[[Family, Settings], Mapping[str, tuple[str, ...]]]
    """All constant chains with their rules."""

    def in_family(self, family: Family) -> Table:
        return Table(family, self.table)


LAYOUT = Layout(ruleset.TABLE, ruleset.BASE_CHAINS, ruleset.chains)
