"""`$(VAR)` references in commands, arguments and environment values. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# `$$` is tried first: it stands for one dollar, which takes the meaning from a `(` after it.
_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace known references; an unknown `$(X)` stays as it is, `$$(X)` becomes the text `$(X)`."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return variables.get(match[1], match[0])

    return _REFERENCE.sub(value, text)


def expand_all(texts: Iterable[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(expand(text, variables) for text in texts)
