"""Answers in YAML, spelled as Kubernetes spells it: keys sorted, strings quoted only where they must be."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

# What a reader of YAML 1.1 would take for something else than the text it is.
_AMBIGUOUS: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|[yYnN]|0[0-9_]+|[0-9][0-9_]*:[0-9:_.]+")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    if "\n" in value:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    resolved = dumper.resolve(yaml.ScalarNode, value, (True, False))  # type: ignore[no-untyped-call]
    doubtful = resolved != "tag:yaml.org,2002:str" or _AMBIGUOUS.fullmatch(value) is not None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"' if doubtful else None)


_Dumper.add_representer(str, _text)


def yaml_text(value: Any) -> bytes:
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=2**31)
    assert isinstance(text, str)
    return text.encode()
