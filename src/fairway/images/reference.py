"""Image names as people write them and the one form they stand for. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT_REGISTRY = "docker.io"
_PATH = re.compile(r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*\Z")
_REGISTRY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*(?:\.[A-Za-z0-9][A-Za-z0-9-]*)*(?::[0-9]+)?\Z")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}\Z")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


class InvalidReference(ValueError):
    """The text is no image name."""


@dataclass(frozen=True, slots=True)
class Reference:
    registry: str
    repository: str
    tag: str = "latest"
    digest: str = ""

    @property
    def name(self) -> str:
        return f"{self.registry}/{self.repository}"

    def __str__(self) -> str:
        return f"{self.name}@{self.digest}" if self.digest else f"{self.name}:{self.tag}"


def parse(text: str) -> Reference:
    """`busybox` is `docker.io/library/busybox:latest`; a digest makes the tag beside it irrelevant."""
    rest, _, digest = text.partition("@")
    if digest and not _DIGEST.match(digest):
        raise InvalidReference(f'invalid reference format: digest of "{text}"')
    name, tag = _split_tag(rest)
    registry, repository = _split_registry(name)
    if not (_REGISTRY.match(registry) and _PATH.match(repository) and _TAG.match(tag)):
        raise InvalidReference(f'invalid reference format: "{text}"')
    return Reference(registry, repository, tag, digest)


def _split_tag(text: str) -> tuple[str, str]:
    """A colon after the last slash begins a tag; one before it belongs to the registry's port."""
    head, slash, tail = text.rpartition("/")
    name, colon, tag = tail.partition(":")
    return head + slash + name, tag if colon else "latest"


def _split_registry(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        official = first in (DEFAULT_REGISTRY, "index.docker.io")
        if official:
            return DEFAULT_REGISTRY, rest if "/" in rest else f"library/{rest}"
        return first, rest
    return DEFAULT_REGISTRY, name if slash else f"library/{name}"
