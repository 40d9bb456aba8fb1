"""Which objects a command line means: `TYPE`, `TYPE NAME…`, `TYPE/NAME…`, `TYPE,TYPE`."""

from __future__ import annotations

from dataclasses import dataclass

import click

from fairway.api.resources import Resource
from fairway.cli.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Selected:
    """A kind, and one object of it; all of them without a name."""

    resource: Resource
    name: str = ""


def select(catalog: Catalog, words: tuple[str, ...]) -> list[Selected]:
    if not words:
        raise click.UsageError("say what: fairway get TYPE [NAME…], or TYPE/NAME…")
    if any("/" in word for word in words):
        return [_pair(catalog, word) for word in words]
    resources = [found for text in words[0].split(",") for found in catalog.named(text)]
    if len(words) == 1:
        return [Selected(resource) for resource in resources]
    return [Selected(resource, name) for resource in resources for name in words[1:]]


def _pair(catalog: Catalog, word: str) -> Selected:
    kind, slash, name = word.partition("/")
    if not slash or not kind or not name or "/" in name:
        raise click.UsageError(
            "there is no need to specify a resource type as a separate argument when "
            "passing arguments in resource/name form"
        )
    return Selected(catalog.named(kind)[0], name)
