"""Cutting endpoints into slices: complete, within the limit, and with as few writes as possible."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairway.api.objects import Endpoint, EndpointConditions, EndpointSlice, ObjectMeta
from fairway.controllers.packing import Packing, pack

LIMIT = 10


def made(number: int, *, ready: bool = True) -> Endpoint:
    return Endpoint([f"10.0.{number // 250}.{number % 250}"], EndpointConditions(ready, ready, False))


def sliced(name: str, *numbers: int) -> EndpointSlice:
    return EndpointSlice(ObjectMeta(name=name), endpoints=[made(n) for n in numbers])


def packed(existing: list[EndpointSlice], *numbers: int, relabelled: tuple[str, ...] = ()) -> Packing:
    return pack(existing, [made(n) for n in numbers], LIMIT, frozenset(relabelled))


def written(packing: Packing) -> list[str]:
    """The slices a packing touches, new ones as `new`."""
    changed = [base.metadata.name for base, now in packing.filled if tuple(base.endpoints or ()) != now]
    return [*changed, *("new" for _ in packing.fresh), *(f"-{s.metadata.name}" for s in packing.emptied)]


def test_new_endpoints_fill_a_slice_that_is_written_anyway() -> None:
    full, changing = sliced("full", *range(9)), sliced("changing", *range(20, 26))
    result = packed([full, changing], *range(9), *range(20, 25), 40, 41)
    assert written(result) == ["changing"]


def test_with_nothing_written_the_fullest_slice_that_has_room_takes_them() -> None:
    slices = [sliced("few", 0, 1), sliced("many", *range(10, 17))]
    assert written(packed(slices, 0, 1, *range(10, 17), 40, 41, 42)) == ["many"]


def test_half_empty_slices_are_not_repacked() -> None:
    slices = [sliced("a", *range(8)), sliced("b", *range(10, 18))]
    assert written(packed(slices, 0, 10)) == ["a", "b"]
    assert written(packed([sliced("a", 0), sliced("b", 10)], 0, 10)) == []


def test_what_does_not_fit_anywhere_gets_new_slices_filled_to_the_limit() -> None:
    result = packed([sliced("a", *range(9))], *range(9), *range(20, 45))
    assert [len(fresh) for fresh in result.fresh] == [10, 10, 5]
    assert written(result) == ["new", "new", "new"]


def test_a_slice_to_be_relabelled_takes_new_endpoints_first() -> None:
    slices = [sliced("a", *range(8)), sliced("b", 10)]
    assert written(packed(slices, *range(8), 10, 40, relabelled=("b",))) == ["b"]


def test_a_slice_that_lost_all_its_endpoints_is_given_back() -> None:
    assert written(packed([sliced("a", 0), sliced("b", 1)], 0)) == ["-b"]


def test_an_endpoint_listed_twice_is_kept_once() -> None:
    assert written(packed([sliced("a", 0), sliced("b", 0, 1)], 0, 1)) == ["b"]


@given(
    before=st.lists(st.sets(st.integers(0, 60), max_size=LIMIT), max_size=5),
    wanted=st.sets(st.integers(0, 80), max_size=60),
)
def test_every_endpoint_ends_up_in_exactly_one_slice_within_the_limit(
    before: list[set[int]], wanted: set[int]
) -> None:
    slices = [sliced(f"s{i}", *sorted(numbers)) for i, numbers in enumerate(before)]
    result = packed(slices, *sorted(wanted))
    groups = [now for _, now in result.filled] + list(result.fresh)
    assert sorted(e.addresses[0] for g in groups for e in g) == sorted(made(n).addresses[0] for n in wanted)
    assert all(0 < len(group) <= LIMIT for group in groups)


@given(wanted=st.sets(st.integers(0, 80), max_size=60))
def test_packing_what_is_packed_changes_nothing(wanted: set[int]) -> None:
    first = packed([], *sorted(wanted))
    slices = [
        EndpointSlice(ObjectMeta(name=f"s{i}"), endpoints=list(group)) for i, group in enumerate(first.fresh)
    ]
    assert written(packed(slices, *sorted(wanted))) == []
