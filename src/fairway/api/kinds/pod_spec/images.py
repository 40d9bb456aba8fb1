"""References to images: how one is taken apart, and what that says about pulling it."""

from __future__ import annotations

import re
from typing import Final

_HOST: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART: Final = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_DIGEST: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_reference: Final = re.compile(
    rf"(?:(?:{_DOMAIN})/)?{_PART}(?:/{_PART})*(?::([\w][\w.-]{{0,127}}))?(?:@({_DIGEST}))?"
).fullmatch
_IDENTIFIER: Final = re.compile("[a-f0-9]{64}").fullmatch


def pull_policy(image: str) -> str:
    """Always for `latest` and untagged images; a digest, any other tag and what can't be read: once."""
    found = _reference(image)
    if not found or _IDENTIFIER(image):
        return "IfNotPresent"
    tag, digest = found.groups()
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"
