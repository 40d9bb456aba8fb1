"""YAML request bodies, read as Kubernetes reads them: first document only, YAML 1.1 words, JSON values.

PyYAML does the parsing; what a plain word means (`on`, `0644`, `1e3`, `2020-01-01`) follows Go's yaml
package, which differs from PyYAML's idea of it. Go's error texts, too: both packages descend from libyaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NoReturn

from fairway.api.schema.json_body import BadJson, decode_json, has_repeated_members

if TYPE_CHECKING:
    import yaml

_TRUE: Final = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSE: Final = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# Longer ones are out of every range, and Python takes quadratic time to read them.
_LONGEST_INTEGER: Final = 400
_INT: Final = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_LARGEST: Final = 1_000_000
"""Values in a document after its aliases are spelled out: a few lines can stand for billions."""
_DEEPEST: Final = 200


class BadYaml(ValueError):
    """The document is no YAML; the message is Go's."""


class _Reader:
    """Builds values from the parser's events. PyYAML's own way, composing nodes in C, recurses without end
    on deeply nested documents and takes the process with it."""

    def __init__(self, parser: Any) -> None:
        self.parser = parser
        self.repeated: list[str] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.count = 0

    def document(self) -> Any:
        """The first document; null if there is none."""
        import yaml

        self.parser.get_event()  # the stream's start
        if self.parser.check_event(yaml.StreamEndEvent):
            return None
        self.parser.get_event()  # the document's start
        return self.value(self.parser.get_event(), 0)

    def value(self, event: Any, depth: int) -> Any:
        import yaml

        before = self.count
        self._count(1, depth)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if isinstance(event, yaml.ScalarEvent):
            found = plain(event.value) if event.implicit[0] else event.value
        elif isinstance(event, yaml.SequenceStartEvent):
            found = [self.value(item, depth + 1) for item in self._until(yaml.SequenceEndEvent)]
        else:
            found = self._mapping(depth)
        if event.anchor:
            self.anchors[event.anchor] = (found, self.count - before)
        return found

    def _until(self, end: type) -> Iterator[Any]:
        while not self.parser.check_event(end):
            yield self.parser.get_event()
        self.parser.get_event()

    def _mapping(self, depth: int) -> dict[str, Any]:
        import yaml

        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for event in self._until(yaml.MappingEndEvent):
            is_merge = isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value == "<<"
            key = key_text(self.value(event, depth + 1))
            value = self.value(self.parser.get_event(), depth + 1)
            if is_merge:
                merged = _merge(value) | merged
                continue
            if key in found:
                self.repeated.append(f'  line {event.start_mark.line + 1}: key "{key}" already set in map')
            found[key] = value
        return dict(sorted((merged | found).items()))

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise BadYaml(f"yaml: unknown anchor '{event.anchor}' referenced")
        value, size = self.anchors[event.anchor]
        self._count(size, 0)
        return deepcopy(value)

    def _count(self, size: int, depth: int) -> None:
        self.count += size
        if self.count > _LARGEST:
            raise BadYaml("yaml: document contains excessive aliasing")
        if depth > _DEEPEST:
            raise BadYaml("yaml: exceeded max depth")


def _merge(value: Any) -> dict[str, Any]:
    """What `<<` brings in: a map, or several, of which earlier ones win."""
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise BadYaml("yaml: map merge requires map or sequence of maps as the value")
    return {key: item for source in reversed(sources) for key, item in source.items()}


def decode_yaml(body: bytes) -> Any:
    """The document as JSON values, keys sorted. Raises BadYaml."""
    return decode_yaml_strictly(body)[0]


def decode_yaml_strictly(body: bytes) -> tuple[Any, list[str]]:
    """The document, and what strict reading complains of: keys given twice."""
    if body.startswith(b"{") and (found := _json(body)) is not None:
        return found, []
    import yaml

    reader = _Reader(_parser(body))
    try:
        found = reader.document()
    except yaml.MarkedYAMLError as bad:
        _refuse(bad)
    except yaml.YAMLError as bad:
        raise BadYaml(f"yaml: {getattr(bad, 'reason', bad)}") from None
    complaints = ["yaml: unmarshal errors:\n" + "\n".join(reader.repeated)] if reader.repeated else []
    return found, complaints


def _json(body: bytes) -> Any:
    """JSON is YAML, and what programs send as YAML is mostly JSON; None if it has to be read the long way."""
    try:
        found = decode_json(body)
    except BadJson:
        return None
    return None if has_repeated_members(body, found) else found


def plain(word: str) -> Any:
    """What an unquoted word means."""
    if word in _NULL:
        return None
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    bare = word.replace("_", "")
    if _INT.fullmatch(bare):
        return _int(bare)
    if _FLOAT.fullmatch(bare):
        number = float(bare)
        return int(number) if number.is_integer() and abs(number) < 1e21 else number
    return word


def _int(bare: str) -> int | float:
    digits = bare.lstrip("+-").lower()
    sign = -1 if bare.startswith("-") else 1
    if len(digits) > _LONGEST_INTEGER:
        return sign * float("inf")
    if digits[:2] in ("0x", "0b", "0o"):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if digits.startswith("0") else 10)


def key_text(key: Any) -> str:
    """A mapping's key as JSON has to have it."""
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def _parser(body: bytes) -> Any:
    import yaml

    try:
        return getattr(yaml, "CSafeLoader", yaml.SafeLoader)(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadYaml("yaml: invalid leading UTF-8 octet") from None
    except yaml.YAMLError as bad:
        raise BadYaml(f"yaml: {getattr(bad, 'reason', bad)}") from None


def _refuse(bad: yaml.MarkedYAMLError) -> NoReturn:
    """Go counts lines as libyaml does, from 0, but one more for faults of the scanner."""
    import yaml

    scanner = isinstance(bad, yaml.scanner.ScannerError)
    marks = [mark.line for mark in (bad.context_mark, bad.problem_mark) if mark is not None and mark.line]
    where = f"line {marks[0] + scanner}: " if marks else ""
    raise BadYaml(f"yaml: {where}{bad.problem}") from None
