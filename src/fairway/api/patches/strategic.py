"""Strategic merge patch: objects merge, and lists merge where the kind says by which key.

The kind's shape comes in through two small protocols. Directives inside the patch (`$patch`, `$retainKeys`,
`$deleteFromPrimitiveList/…`, `$setElementOrder/…`) steer it; how merged lists are ordered is in `list_order`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from fairway.api.patches.directives import (
    BAD_PRIMITIVE_LIST,
    BAD_RETAIN_KEYS,
    DELETE_FROM_LIST,
    PATCH,
    RETAIN_KEYS,
    SET_ORDER,
    failure,
    is_directive,
    replacement,
    unknown_directive,
    without_directives,
    wrong_type,
)
from fairway.api.patches.document import Json, PatchError, cannot_unmarshal, clone, json_type
from fairway.api.patches.list_order import check_order, identity, ordered

Object: TypeAlias = dict[str, Any]


class FieldShape(Protocol):
    """How one field merges. `strategy` holds any of `merge`, `replace`, `retainKeys`."""

    @property
    def merge_key(self) -> str | None: ...

    @property
    def strategy(self) -> Sequence[str]: ...

    @property
    def is_map(self) -> bool:
        """Whether its keys are data (labels), not fields."""

    @property
    def shape(self) -> Shape | None:
        """The shape of the object that the field is, or that the items of its list are."""


class Shape(Protocol):
    """The fields of an object that need more than the default: merge objects, replace everything else."""

    @property
    def fields(self) -> Mapping[str, FieldShape]: ...


def strategic_merge_patch(document: Object, patch: Json, shape: Shape) -> Object:
    patch = {} if patch is None else patch
    if not isinstance(patch, dict):
        raise PatchError.malformed(cannot_unmarshal(patch, "value of type map[string]interface {}"))
    return _merge_objects(clone(document), clone(patch), shape)


def _merge_objects(old: Object, patch: Object, shape: Shape | None) -> Object:
    """Takes both apart: they are copies of our own."""
    if PATCH in patch:
        return replacement(patch)
    result = _retained(old, patch)
    fields: Mapping[str, FieldShape] = shape.fields if shape else {}
    for directive in [key for key in patch if key.startswith(SET_ORDER)]:
        name = directive.removeprefix(SET_ORDER)
        _merge_in_order(result, patch, name, patch.pop(directive), fields.get(name))
    for key, value in patch.items():
        if key.startswith(DELETE_FROM_LIST):
            _delete_from_list(result, key.removeprefix(DELETE_FROM_LIST), value)
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = _merge_values(result.get(key), value, fields.get(key))
    return result


def _merge_values(old: Json, new: Json, field: FieldShape | None) -> Json:
    if isinstance(old, dict) and isinstance(new, dict) and not _replaces(field):
        return _merge_objects(old, new, field.shape if field and not field.is_map else None)
    if isinstance(old, list) and isinstance(new, list) and field and "merge" in field.strategy:
        return _merge_lists(old, new, field)
    return without_directives(new)


def _replaces(field: FieldShape | None) -> bool:
    return field is not None and "replace" in field.strategy


def _merge_lists(old: list[Json], patch: list[Json], field: FieldShape) -> list[Json]:
    kinds = {json_type(item) for item in (*old, *patch)}
    if "array" in kinds:
        raise PatchError.inapplicable()
    if len(kinds) > 1:
        raise failure("list element types are not identical")
    if kinds != {"object"}:
        both = {identity(item, None): item for item in (*old, *patch)}
        return ordered(list(both.values()), patch, old, None)
    if not field.merge_key:
        raise failure("cannot merge lists without merge key")
    old, patch = _after_special_items(old, patch, field.merge_key)
    return ordered(_merge_items(old, patch, field), patch, old, field.merge_key)


def _after_special_items(
    old: list[Object], patch: list[Object], merge_key: str
) -> tuple[list[Object], list[Object]]:
    """Carry out `$patch: delete` and `$patch: replace`; what is left of both lists."""
    plain = [item for item in patch if PATCH not in item]
    replace = False
    for item in [item for item in patch if PATCH in item]:
        match item[PATCH]:
            case "delete":
                gone = identity(item, merge_key)
                old = [o for o in old if merge_key not in o or identity(o, merge_key) != gone]
            case "replace":
                replace = True
            case "merge":
                raise failure("merging lists cannot yet be specified in the patch")
            case unknown:
                raise unknown_directive(unknown, item)
    return (without_directives(plain), []) if replace else (old, plain)


def _merge_items(old: list[Object], patch: list[Object], field: FieldShape) -> list[Object]:
    """Of several old items with the same key, the first takes the change."""
    merged = list(old)
    places = {identity(item, field.merge_key): place for place, item in reversed(list(enumerate(old)))}
    for item in patch:
        place = places.setdefault(identity(item, field.merge_key), len(merged))
        if place < len(merged):
            merged[place] = _merge_objects(merged[place], item, field.shape)
        else:
            merged.append(without_directives(item))
    return merged


def _merge_in_order(result: Object, patch: Object, name: str, order: Json, field: FieldShape | None) -> None:
    """`$setElementOrder/NAME`: merge the list NAME, if there is one, and bring it into this order."""
    present = [source[name] for source in (result, patch) if name in source]
    for value in (order, *present):
        if not isinstance(value, list):
            raise wrong_type("[]interface {}", value)
    old, new = result.get(name), patch.pop(name, None)
    merge_key = field.merge_key if field else None
    check_order(new or [], order, merge_key)
    if present:
        merged = old or [] if new is None else _merge_values(old, new, field)
        result[name] = ordered(merged, order, old or [], merge_key)


def _delete_from_list(result: Object, name: str, values: Json) -> None:
    if not isinstance(values, list):
        raise PatchError.malformed(BAD_PRIMITIVE_LIST)
    if isinstance(old := result.get(name), list):
        gone = {identity(value, None) for value in values}
        result[name] = [item for item in old if identity(item, None) not in gone]


def _retained(old: Object, patch: Object) -> Object:
    """`$retainKeys`: drop every field that isn't in the list. The patch may name no other either."""
    if RETAIN_KEYS not in patch:
        return old
    keys = patch.pop(RETAIN_KEYS)
    if not isinstance(keys, list):
        raise PatchError.malformed(BAD_RETAIN_KEYS)
    if any(value is not None and key not in keys and not is_directive(key) for key, value in patch.items()):
        raise PatchError.malformed(BAD_RETAIN_KEYS)
    return {key: value for key, value in old.items() if key in keys}
