"""Reading a KubeProxyConfiguration file. Every mistake is named with its field and its line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from fairway.proxy.config import Config, ConfigError
from fairway.proxy.config_fields import API_VERSION, FIELDS, KIND, WITHOUT_EFFECT, Field, applies

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NOTHING: tuple[object, ...] = (None, "", "0", "0s", 0, False, [])
_NAMES = {str: "a text", int: "a number", bool: "true or false", list: "a list"}


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    line: int
    value: Any


def read_config(path: Path, config: Config) -> Config:
    """`config` with what the file says in place of it. Null, and what is empty, leave it as it is."""
    entries = _checked_kind(path, list(_entries(path)))
    mode = next((str(e.value) for e in entries if e.path == "mode" and e.value), config.proxy_mode)
    changes: dict[str, Any] = {}
    ignored: dict[str, str] = {}
    for entry in entries:
        field = FIELDS.get(entry.path)
        if field is None:
            reason = _reason(path, entry)
            ignored |= {entry.path: reason} if reason and entry.value not in _NOTHING else {}
        elif not _is_unset(entry):
            value = _value(path, entry, field)
            changes |= {field.name: value} if applies(entry.path, mode) else {}
    prefix = "conntrack."
    limits = {name.removeprefix(prefix): changes.pop(name) for name in list(changes) if prefix in name}
    conntrack = replace(config.conntrack, **limits)
    ignored = {**config.without_effect, **ignored}
    return replace(config, **changes, file=path, conntrack=conntrack, without_effect=ignored)


async def until_changed(path: Path, every: float = 5.0) -> None:
    """Raises once the file says something else: whoever started the proxy will start it anew, as with
    kube-proxy. A file that is gone for a moment is being replaced."""
    before = _contents(path)
    while _contents(path) in (None, before):  # noqa: ASYNC110  (the file system tells nobody)
        await asyncio.sleep(every)
    raise ConfigError(f"{path} has changed: the proxy must be started anew to use it")


def _contents(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _is_unset(entry: _Entry) -> bool:
    """Kubernetes writes out empty texts, and periods of zero, where the default is meant."""
    return entry.value in (None, "", []) or (entry.value == "0s" and entry.path.endswith("yncPeriod"))


def _checked_kind(path: Path, entries: list[_Entry]) -> list[_Entry]:
    found = {entry.path: entry.value for entry in entries}
    if (found.get("apiVersion"), found.get("kind")) != (API_VERSION, KIND):
        raise ConfigError(f"{path}: this is no {KIND}: it must begin with apiVersion: {API_VERSION}")
    return [entry for entry in entries if entry.path not in ("apiVersion", "kind")]


def _reason(path: Path, entry: _Entry) -> str:
    """Why a field has no effect; empty for a section that holds nothing."""
    section = f"{entry.path.split('.')[0]}."
    reason = WITHOUT_EFFECT.get(entry.path) or WITHOUT_EFFECT.get(section)
    if reason is not None:
        return reason
    is_section = any(known.startswith(f"{entry.path}.") for known in FIELDS)
    if is_section and not entry.value:
        return ""
    if is_section:
        raise ConfigError(f"{path}:{entry.line}: {entry.path} must have fields of its own")
    raise ConfigError(f"{path}:{entry.line}: unknown field {entry.path}: remove it or correct its name")


def _value(path: Path, entry: _Entry, field: Field) -> Any:
    kinds = field.kind if isinstance(field.kind, tuple) else (field.kind,)
    # To Python, true is also a number.
    if not isinstance(entry.value, kinds) or (isinstance(entry.value, bool) and bool not in kinds):
        raise ConfigError(f"{path}:{entry.line}: {entry.path} must be {_NAMES[kinds[0]]}")
    try:
        return field.read(entry.value)
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}:{entry.line}: {entry.path}: {error}") from error


def _entries(path: Path) -> Iterator[_Entry]:
    """Every field of the file with its dotted path."""
    try:
        loader = _Loader(path.read_text())
        root = loader.get_single_node()
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: this is no YAML: {error}") from error
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{path}: expected a {KIND}, found no fields")
    yield from _walk(path, loader, root, "")


def _walk(path: Path, loader: Any, node: yaml.MappingNode, prefix: str) -> Iterator[_Entry]:
    seen: set[str] = set()
    for key, value in node.value:
        name, line = f"{prefix}{key.value}", key.start_mark.line + 1
        if name in seen:
            raise ConfigError(f"{path}:{line}: {name} is given twice")
        seen.add(name)
        if isinstance(value, yaml.MappingNode) and value.value and name not in FIELDS:
            yield from _walk(path, loader, value, f"{name}.")
        else:
            yield _Entry(name, line, loader.construct_object(value, deep=True))
