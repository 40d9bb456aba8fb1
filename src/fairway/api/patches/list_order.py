"""In which order the items of a merged list stand, and how items are told apart.

Items of the patch keep the order of the patch (or of `$setElementOrder`), the server's own items keep theirs;
between the two, an item of the server goes before an item of the patch only if it stood before it already.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from fairway.api.patches.directives import PATCH, SET_ORDER, failure, no_merge_key
from fairway.api.patches.document import Json, go_text


def identity(item: Json, merge_key: str | None) -> Hashable:
    """What makes two items the same: the merge key's value, or the item itself if it is a scalar."""
    if merge_key is None:
        return _hashable(item)
    if not isinstance(item, dict) or merge_key not in item:
        raise no_merge_key(item, merge_key)
    return _hashable(item[merge_key])


def ordered(
    items: Sequence[Json], patch_order: Sequence[Json], server_order: Sequence[Json], merge_key: str | None
) -> list[Json]:
    patch_ranks, server_ranks = _ranks(patch_order, merge_key), _ranks(server_order, merge_key)
    named = [(identity(item, merge_key), item) for item in items]
    patched = sorted(
        (pair for pair in named if pair[0] in patch_ranks), key=lambda pair: patch_ranks[pair[0]]
    )
    others = sorted(
        (pair for pair in named if pair[0] not in patch_ranks),
        key=lambda pair: server_ranks.get(pair[0], len(server_ranks)),
    )
    return _interleaved(others, patched, server_ranks)


def check_order(patch: Sequence[Json], order: Sequence[Json], merge_key: str | None) -> None:
    """All items of the patch must be in the order list, and in that order; those to delete need not."""
    if not patch or not order:
        return
    expected = iter([identity(item, merge_key) for item in order])
    for item in patch:
        if isinstance(item, dict) and PATCH in item:
            continue
        if identity(item, merge_key) not in expected:
            listed = f"{go_text(patch)}\n doesn't match {SET_ORDER.rstrip('/')} list:\n{go_text(order)}\n"
            raise failure(f"The order in patch list:\n{listed}")


_Named = tuple[Hashable, Json]


def _interleaved(
    others: list[_Named], patched: list[_Named], server_ranks: dict[Hashable, int]
) -> list[Json]:
    result: list[Json] = []
    waiting = iter(others)
    other = next(waiting, None)
    for name, item in patched:
        while (
            other
            and name in server_ranks
            and server_ranks.get(other[0], len(server_ranks)) < server_ranks[name]
        ):
            result.append(other[1])
            other = next(waiting, None)
        result.append(item)
    return result + ([other[1]] if other else []) + [item for _, item in waiting]


def _ranks(items: Sequence[Json], merge_key: str | None) -> dict[Hashable, int]:
    ranks: dict[Hashable, int] = {}
    for rank, item in enumerate(items):
        ranks.setdefault(identity(item, merge_key), rank)
    return ranks


def _hashable(value: Json) -> Hashable:
    """Never equal for values of different types: in Python 1, 1.0 and True would be."""
    return type(value), go_text(value) if isinstance(value, dict | list) else value
