"""The proxy modes there are, by the names of kube-proxy, and how one is opened.

Each is a folder whose `mode.py` has `opened(settings, node)` and, where a machine may lack what the mode
needs, `problem()`. A mode is loaded only when it is wanted.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from types import ModuleType
from typing import cast

from fairway.proxy.programming import Mode
from fairway.proxy.settings import Settings

MODES = ("nftables", "iptables", "ipvs", "userspace")


class ModeNotBuilt(ValueError):
    """A proxy mode that this release doesn't have."""


class ModeUnavailable(ModeNotBuilt):
    """A proxy mode that this machine can't carry; the message says what to do."""


def opened(name: str, settings: Settings, node: str) -> AbstractContextManager[Mode[Settings]]:
    """In the network namespace of the calling thread. Also where the mode can't run: to remove its traces."""
    return cast(AbstractContextManager[Mode[Settings]], _module(name).opened(settings, node))


def check_mode(name: str) -> None:
    """Raises unless there is such a mode and this machine can carry it."""
    module = _module(name)
    problem = module.problem() if hasattr(module, "problem") else ""
    if problem:
        raise ModeUnavailable(f"proxy mode {name} can't run here: {problem}")


def _module(name: str) -> ModuleType:
    if name not in MODES:
        raise ModeNotBuilt(f"there is no proxy mode {name}; choose one of: {', '.join(MODES)}")
    return importlib.import_module(f"fairway.proxy.{name}.mode")
