"""JSON patch (RFC 6902): a list of operations at JSON pointers, all of them or none.

Where the RFC leaves room, this does what kube-apiserver does: negative indexes count from the end, and
testing a missing member against null succeeds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from fairway.api.patches.document import Json, PatchError, cannot_unmarshal, clone

MOST_OPERATIONS = 10_000
# A few dozen copies, each doubling the document, would otherwise fill any memory.
MOST_COPIED_BYTES = 3 * 1024 * 1024

Operation: TypeAlias = Mapping[str, Json]
Pointer: TypeAlias = Sequence[str]

_LONGEST_INDEX = 20
_INDEX = re.compile(r"-?(0|[1-9][0-9]*)")


def json_patch(document: Json, patch: Json) -> Json:
    operations = _operations(patch)
    patching = _Patching(document)
    try:
        for operation in operations:
            patching.apply(operation)
    except _Inapplicable as error:
        raise PatchError.inapplicable() from error
    return patching.document


class _Inapplicable(Exception):
    """A pointer leads nowhere, a test failed, or the operation is none."""


class _Patching:
    """A document being patched. It hangs under the key "" of a root, so that the pointer "" (the whole
    document) is no special case: every pointer, cut at its slashes, begins with that key."""

    def __init__(self, document: Json) -> None:
        self._root: dict[str, Json] = {"": clone(document)}
        self._copied_bytes = 0

    @property
    def document(self) -> Json:
        return self._root.get("")

    def apply(self, operation: Operation) -> None:
        path = _pointer(operation, "path")
        match operation.get("op"):
            case "add":
                self._add(path, clone(operation.get("value")))
            case "remove":
                self._remove(path)
            case "replace":
                self._replace(path, clone(operation.get("value")))
            case "move":
                self._add(path, self._remove(_pointer(operation, "from")))
            case "copy":
                self._add(path, self._copied(_pointer(operation, "from")))
            case "test":
                self._test(path, operation.get("value"))
            case unknown:
                raise _Inapplicable(unknown)

    def _parent(self, pointer: Pointer) -> Json:
        value: Json = self._root
        for token in pointer[:-1]:
            value = _member(value, token)
        if not isinstance(value, dict | list):
            raise _Inapplicable(pointer)
        return value

    def _add(self, pointer: Pointer, value: Json) -> None:
        parent, token = self._parent(pointer), pointer[-1]
        if isinstance(parent, dict):
            parent[token] = value
        elif token == "-":
            parent.append(value)
        else:
            parent.insert(_index(token, len(parent) + 1), value)

    def _remove(self, pointer: Pointer) -> Json:
        parent, token = self._parent(pointer), pointer[-1]
        _member(parent, token)
        return parent.pop(token if isinstance(parent, dict) else _index(token, len(parent)))

    def _replace(self, pointer: Pointer, value: Json) -> None:
        parent, token = self._parent(pointer), pointer[-1]
        _member(parent, token)
        parent[token if isinstance(parent, dict) else _index(token, len(parent))] = value

    def _copied(self, pointer: Pointer) -> Json:
        value = _member(self._parent(pointer), pointer[-1])
        self._copied_bytes += len(msgspec.json.encode(value))
        if self._copied_bytes > MOST_COPIED_BYTES:
            raise _Inapplicable(pointer)
        return clone(value)

    def _test(self, pointer: Pointer, expected: Json) -> None:
        parent, token = self._parent(pointer), pointer[-1]
        absent = isinstance(parent, dict) and token not in parent
        actual = None if absent else _member(parent, token)
        if _canonical(actual) != _canonical(expected):
            raise _Inapplicable(pointer)


def _member(parent: Json, token: str) -> Json:
    if isinstance(parent, list):
        return parent[_index(token, len(parent))]
    if not isinstance(parent, dict) or token not in parent:
        raise _Inapplicable(token)
    return parent[token]


def _index(token: str, length: int) -> int:
    if len(token) > _LONGEST_INDEX or not _INDEX.fullmatch(token):
        raise _Inapplicable(token)
    index = int(token)
    if not -length <= index < length:
        raise _Inapplicable(token)
    return index % length


def _pointer(operation: Operation, name: str) -> Pointer:
    text = operation.get(name)
    if text is None:
        raise _Inapplicable(name)
    return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")]


def _canonical(value: Json) -> bytes:
    """Python's own comparison would take true for 1."""
    return msgspec.json.encode(value, order="deterministic")


def _operations(patch: Json) -> Sequence[Operation]:
    if not isinstance(patch, list | None):
        raise _undecodable(patch, "value of type []handlers.jsonPatchOp")
    operations = patch or []
    if len(operations) > MOST_OPERATIONS:
        message = (
            f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(operations)}"
        )
        raise PatchError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")
    for operation in operations:
        _check(operation)
    return operations


def _check(operation: Json) -> None:
    if not isinstance(operation, dict):
        raise _undecodable(operation, "value of type handlers.jsonPatchOp")
    for name in ("op", "path", "from"):
        value = operation.get(name)
        if not isinstance(value, str | None):
            raise _undecodable(value, f"struct field jsonPatchOp.{name} of type string")


def _undecodable(value: Json, target: str) -> PatchError:
    return PatchError.malformed(f"error decoding patch: {cannot_unmarshal(value, target)}")
