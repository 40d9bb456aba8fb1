"""The proxy modes there are, by the names of kube-proxy, and how one is opened.

Each is a folder whose `mode.py` has `opened(settings, node)`. A mode is loaded only when it is wanted.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from typing import cast

from fairway.proxy.programming import Mode
from fairway.proxy.settings import Settings

MODES = ("nftables", "iptables")


class ModeNotBuilt(ValueError):
    """A proxy mode that Kubernetes has and this release doesn't."""


def opened(name: str, settings: Settings, node: str) -> AbstractContextManager[Mode[Settings]]:
    """In the network namespace of the calling thread."""
    check_mode(name)
    module = importlib.import_module(f"fairway.proxy.{name}.mode")
    return cast(AbstractContextManager[Mode[Settings]], module.opened(settings, node))


def check_mode(name: str) -> None:
    if name not in MODES:
        raise ModeNotBuilt(f"proxy mode {name} is not built yet; there is: {', '.join(MODES)}")
