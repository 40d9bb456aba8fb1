"""The plugins and the one order they stand in, outermost first, whatever the order of the Corefile.

To add one: a folder with a class `PLUGIN` (see `fairway.dns.plugin`), and its name here at the right place.
"""

from __future__ import annotations

import importlib
from typing import cast

from fairway.dns.plugin import Plugin

ORDER = (
    "reload",
    "bufsize",
    "bind",
    "ready",
    "health",
    "prometheus",
    "errors",
    "log",
    "acl",
    "any",
    "chaos",
    "loadbalance",
    "cache",
    "rewrite",
    "autopath",
    "minimal",
    "template",
    "hosts",
    "kubernetes",
    "loop",
    "forward",
)


def load(name: str) -> type[Plugin]:
    """The plugin of a directive in `ORDER`, imported only when a Corefile uses it."""
    module = importlib.import_module(f"fairway.dns.plugins.{name}")
    return cast(type[Plugin], module.PLUGIN)
