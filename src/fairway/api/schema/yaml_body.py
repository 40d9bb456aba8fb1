"""YAML request bodies, read as Kubernetes reads them: first document only, YAML 1.1 words, into plain JSON
values.

PyYAML does the parsing; what a plain word means (`on`, `0644`, `1e3`, `2020-01-01`) follows Go's yaml
package, which differs from PyYAML's idea of it. Go's error texts, too: both packages descend from libyaml.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    import yaml

_TRUE: Final = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSE: Final = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INT: Final = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_STRING_TAG: Final = "tag:yaml.org,2002:str"
_LARGEST: Final = 1_000_000
"""Values in a document after its aliases are spelled out: a few lines can stand for billions."""


class BadYaml(ValueError):
    """The document is no YAML; the message is Go's."""


class _Reader:
    def __init__(self) -> None:
        self.repeated: list[str] = []
        self.count = 0

    def value(self, node: yaml.Node) -> Any:
        import yaml

        self.count += 1
        if self.count > _LARGEST:
            raise BadYaml("yaml: document contains excessive aliasing")
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value]
        return plain(node.value) if node.tag != _STRING_TAG else node.value

    def mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.value == "<<" and key_node.tag != _STRING_TAG:
                merged = self.merge(value_node) | merged
                continue
            key = key_text(self.value(key_node))
            if key in found:
                self.repeated.append(f'  line {key_node.start_mark.line + 1}: key "{key}" already set in map')
            found[key] = self.value(value_node)
        return dict(sorted((merged | found).items()))

    def merge(self, node: yaml.Node) -> dict[str, Any]:
        import yaml

        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        values = [self.value(source) for source in sources]
        if not all(isinstance(value, dict) for value in values):
            raise BadYaml("yaml: map merge requires map or sequence of maps as the value")
        return {key: value for source in reversed(values) for key, value in source.items()}


def decode_yaml(body: bytes) -> Any:
    """The document as JSON values, keys sorted. Raises BadYaml."""
    return decode_yaml_strictly(body)[0]


def decode_yaml_strictly(body: bytes) -> tuple[Any, list[str]]:
    """The document, and what strict reading complains of: keys given twice."""
    node = _compose(body)
    reader = _Reader()
    found = reader.value(node) if node is not None else None
    complaints = ["yaml: unmarshal errors:\n" + "\n".join(reader.repeated)] if reader.repeated else []
    return found, complaints


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


def _int(bare: str) -> int:
    digits = bare.lstrip("+-").lower()
    sign = -1 if bare.startswith("-") else 1
    if digits[:2] in ("0x", "0b", "0o"):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if digits.startswith("0") else 10)


def key_text(key: Any) -> str:
    """A mapping's key as JSON has to have it."""
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def _compose(body: bytes) -> yaml.Node | None:
    import yaml

    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadYaml("yaml: invalid leading UTF-8 octet") from None
    loader = _loader()(text)
    try:
        return loader.get_node() if loader.check_node() else None
    except yaml.MarkedYAMLError as bad:
        _refuse(bad)
    except yaml.YAMLError as bad:
        raise BadYaml(f"yaml: {bad}") from None
    finally:
        loader.dispose()


def _refuse(bad: yaml.MarkedYAMLError) -> NoReturn:
    """Go counts lines as libyaml does, from 0, but one more for faults of the scanner."""
    import yaml

    scanner = isinstance(bad, yaml.scanner.ScannerError)
    marks = [mark.line for mark in (bad.context_mark, bad.problem_mark) if mark is not None and mark.line]
    where = f"line {marks[0] + scanner}: " if marks else ""
    raise BadYaml(f"yaml: {where}{bad.problem}") from None


@cache
def _loader() -> Any:
    """libyaml's parser, leaving every plain word unresolved: `plain` does that."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            if kind is yaml.ScalarNode and implicit[0]:
                return ""  # an unquoted word
            return super().resolve(kind, value, implicit)

    return Loader
