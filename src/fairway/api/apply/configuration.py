"""What a client applies: checked against the kind's structure, and the set of fields it lays claim to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairway.api.apply.elements import element_text
from fairway.api.apply.fieldset import MEMBER, SELF, FieldSet
from fairway.api.apply.structure import List, Map, Node, Scalar, Struct
from fairway.api.patches.document import go_text
from fairway.api.validation.quoting import render_value

_EXPECTED = {"string": str, "boolean": bool, "numeric": int | float}
_TITLES = {"numeric": "numeric (int or float)", "untyped": "any scalar"}


def claimed(structure: Struct, value: dict[str, Any]) -> FieldSet:
    """The fields of an applied configuration: leaves and items, but not what merely contains them."""
    return _claimed_below(structure, value)


def _claimed(node: Node, value: Any, declared: bool) -> FieldSet | None:
    """A field of a configuration; None if it claims nothing, as an empty list does."""
    if node.atomic:
        return MEMBER
    below = _claimed_below(node, value) if value else {}
    if value is None or value == {} or not declared:
        return {SELF: MEMBER, **below} if below else MEMBER
    return below or None


def _claimed_below(node: Node, value: Any) -> FieldSet:
    result: FieldSet = {}
    if isinstance(node, Struct):
        for name, item in value.items():
            if known := node.fields.get(name):
                _put(result, known[0], _claimed(known[1], item, declared=True))
    elif isinstance(node, Map):
        for name, item in value.items():
            _put(result, f"f:{name}", _claimed(node.item, item, declared=False))
    elif isinstance(node, List):
        for item in value:
            element = node.element(item)
            _put(result, element, MEMBER if element in result else _claimed(node.item, item, declared=False))
    return result


def _put(result: FieldSet, element: str, node: FieldSet | None) -> None:
    if node is not None:
        result[element] = node


def faults(structure: Struct, value: dict[str, Any]) -> str:
    """What is wrong with a configuration, or nothing."""
    found = [f"{path}: {text}" if path else text for path, text in _faults(structure, value, "")]
    if len(found) < 2:
        return "".join(found)
    return "\n  ".join(["errors:", *found])


def _faults(node: Node, value: Any, path: str) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if isinstance(node, Scalar):
        if text := _scalar_fault(node.type, value):
            yield path, text
    elif isinstance(node, List):
        if not isinstance(value, list):
            yield path, f"expected list, got &{{{go_text(value)}}}"
        else:
            yield from _item_faults(node, value, path)
    elif not isinstance(value, dict):
        yield path, f"expected map, got &{{{go_text(value)}}}"
    elif isinstance(node, Struct):
        for name, item in value.items():
            known = node.fields.get(name)
            if known is None:
                yield f"{path}.{name}", "field not declared in schema"
            else:
                yield from _faults(known[1], item, f"{path}.{name}")
    else:
        for name, item in value.items():
            yield from _faults(node.item, item, f"{path}.{name}")


def _scalar_fault(kind: str, value: Any) -> str:
    if kind == "anything" or (kind == "untyped" and not isinstance(value, dict | list)):
        return ""
    expected = _EXPECTED.get(kind)
    if expected and isinstance(value, expected) and (kind == "boolean" or not isinstance(value, bool)):
        return ""
    return f"expected {_TITLES.get(kind, kind)}, got &value.valueUnstructured{{Value:{_go_value(value)}}}"


def _go_value(value: Any) -> str:
    if isinstance(value, dict):
        members = ", ".join(f"{render_value(key)}:{_go_value(item)}" for key, item in sorted(value.items()))
        return f"map[string]interface {{}}{{{members}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_value, value))}}}"
    return "interface {}(nil)" if value is None else render_value(value)


def _item_faults(node: List, items: list[Any], path: str) -> Iterator[tuple[str, str]]:
    seen = set()
    for index, item in enumerate(items):
        element = f"i:{index}"
        if not node.atomic:
            if text := _element_fault(node, item):
                yield path, f"element {index}: {text}"
                return
            element = node.element(item)
            if element in seen:
                yield path, f"duplicate entries for key {element_text(element)}"
            seen.add(element)
        yield from _faults(node.item, item, path + element_text(element))


def _element_fault(node: List, item: Any) -> str:
    """Why an item can't be told from others."""
    if node.keys:
        if item is None:
            return "associative list with keys may not have a null element"
        if not isinstance(item, dict):
            return "associative list with keys may not have non-map elements"
        for key in node.keys:
            if key not in item and key not in node.defaults:
                return (
                    f"associative list with keys has an element that omits key field {render_value(key)}"
                    " (and doesn't have default value)"
                )
        return ""
    if isinstance(item, dict):
        return "associative list without keys has an element that's a map type"
    if isinstance(item, list):
        return "not supported: associative list with lists as elements"
    return "associative list without keys has an element that's an explicit null" if item is None else ""
