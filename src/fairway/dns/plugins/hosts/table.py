"""The entries of a hosts file, both ways. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairway.dns import names


@dataclass(frozen=True)
class Table:
    addresses: dict[bytes, tuple[bytes, ...]]
    """Addresses by name, in small letters."""
    names: dict[bytes, tuple[bytes, ...]]
    """Names by reverse name."""

    @classmethod
    def parse(cls, lines: Iterable[str]) -> Table:
        """Lines that can't be understood are passed over, as resolvers do."""
        forward: dict[bytes, dict[bytes, None]] = {}
        backward: dict[bytes, dict[bytes, None]] = {}
        for line in lines:
            words = line.partition("#")[0].split()
            address = names.packed(words[0].partition("%")[0]) if words else None
            if address is None:
                continue
            for word in words[1:]:
                try:
                    name = names.from_text(word.lower())
                except names.InvalidName:
                    continue
                forward.setdefault(name, {})[address] = None
                backward.setdefault(names.reverse(address), {})[name] = None
        return cls(_frozen(forward), _frozen(backward))


def _frozen(found: dict[bytes, dict[bytes, None]]) -> dict[bytes, tuple[bytes, ...]]:
    return {key: tuple(values) for key, values in found.items()}
