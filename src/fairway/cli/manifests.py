"""Manifests as people keep them: files, folders, standard input; YAML or JSON; several in one, and Lists."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import yaml

SUFFIXES = (".json", ".yaml", ".yml")
Obj = dict[str, Any]

files_option = click.option(
    "-f", "--filename", "files", multiple=True, help="a file, a folder, or - for standard input"
)
recursive_option = click.option("-R", "--recursive", is_flag=True, help="folders with all folders below them")


def read(files: Iterable[str], recursive: bool = False) -> list[Obj]:
    objects = [
        obj for name in files for text, source in _texts(name, recursive) for obj in _parsed(text, source)
    ]
    if not objects:
        raise click.ClickException("no objects passed to apply")
    return objects


def _texts(name: str, recursive: bool) -> Iterator[tuple[str, str]]:
    if name == "-":
        yield sys.stdin.read(), "STDIN"
        return
    path = Path(name)
    if not path.exists():
        raise click.ClickException(f'the path "{name}" does not exist')
    pattern = "**/*" if recursive else "*"
    found = sorted(p for p in path.glob(pattern) if p.suffix in SUFFIXES) if path.is_dir() else [path]
    for file in found:
        yield file.read_text(), str(file)


def _parsed(text: str, source: str) -> Iterator[Obj]:
    try:
        documents = [document for document in yaml.safe_load_all(text) if document]
    except yaml.YAMLError as error:
        raise click.ClickException(f"error parsing {source}: {error}") from error
    for document in documents:
        yield from _flattened(document, source)


def _flattened(document: Any, source: str) -> Iterator[Obj]:
    if not isinstance(document, dict) or not document.get("kind") or not document.get("apiVersion"):
        raise click.ClickException(f"error validating {source}: apiVersion or kind not set")
    if document["kind"].endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _flattened(item, source)
    else:
        yield document
