"""The hash that names what a Pod template says: the `pod-template-hash` label and revision names.

Stable across processes and releases: a changed hash would roll over every Deployment.
"""

from __future__ import annotations

import json
from typing import Any

# Kubernetes' alphabet for generated names: no vowels (no words by accident), nothing that looks alike.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
HASH_LABEL = "pod-template-hash"


def template_hash(template: Any, collisions: int | None = None) -> str:
    """Up to ten letters for a template; `collisions` makes another hash for the same template."""
    data = json.dumps(pruned(template), sort_keys=True, separators=(",", ":")).encode()
    value = fnv1a(data)
    if collisions is not None:
        value = fnv1a(collisions.to_bytes(8, "little"), value)
    return "".join(ALPHABET[ord(digit) % len(ALPHABET)] for digit in str(value))


def fnv1a(data: bytes, value: int = 2166136261) -> int:
    """The 32-bit FNV-1a of `data`, continued from `value`."""
    for byte in data:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


def pruned(value: Any) -> Any:
    """Without nulls and empty containers: present or absent, they mean the same."""
    if isinstance(value, dict):
        kept = {key: pruned(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None and item != {} and item != []}
    if isinstance(value, list):
        return [pruned(item) for item in value]
    return value


def same_template(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two Pod templates ask for the same Pods; the hash label itself does not count."""
    return bool(pruned(_without_hash(one)) == pruned(_without_hash(other)))


def _without_hash(template: dict[str, Any]) -> dict[str, Any]:
    metadata = template.get("metadata") or {}
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": labels}}
