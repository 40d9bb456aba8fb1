"""The few constructs of Go's templates that records are made with: `{{ .Field }}` and `{{ index .Match 1
}}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fairway.dns.corefile import Directive

_ACTION = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}")
_FIELD = re.compile(r"\.(Name|Zone|Type|Class|Remote|Group\.\w+)\Z")
_INDEX = re.compile(r"(?:index\s+\.Match\s+|\.Match\.)(\d+)\Z")


@dataclass(frozen=True)
class Text:
    source: str

    @classmethod
    def parse(cls, line: Directive, source: str) -> Text:
        for action in _ACTION.findall(source):
            if not (_FIELD.match(action) or _INDEX.match(action)):
                raise line.error(f"plugin/template: '{{{{ {action} }}}}' is not supported")
        return cls(source)

    def fill(self, values: Mapping[str, str], found: re.Match[str]) -> str:
        def value(action: re.Match[str]) -> str:
            index = _INDEX.match(action[1])
            if index:
                number = int(index[1])
                return (found[number] or "") if number <= (found.re.groups) else ""
            return values.get(action[1].removeprefix("."), "")

        return _ACTION.sub(value, self.source)
