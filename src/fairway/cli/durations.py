"""Lengths of time as Kubernetes' flags take them: `15s`, `1m30s`, `250ms`."""

from __future__ import annotations

import re

import click

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h)")


def seconds(_context: click.Context, _option: click.Parameter, text: str) -> float:
    """A callback for options."""
    if not re.fullmatch(f"({_PART.pattern})+", text):
        raise click.BadParameter(f"{text!r} is no duration: write 15s, 1m30s or 250ms")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
