"""Admission: what a new object is given, or refused for, because of other objects or how the server is run.

The plugins are named as in Kubernetes, run in its order, and can be turned off by name. The pure part of
what they do is with the kinds, in `api/kinds`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from fairway.api.kind import Kind, Obj
from fairway.api.kinds.node import taint_not_ready
from fairway.api.kinds.pod.admission import add_default_tolerations, check_runtime_class, set_priority
from fairway.api.resources import NODES, PODS, Resource
from fairway.apiserver.admission.service_account import admit_service_account
from fairway.apiserver.store import Store

Plugin = Callable[[Store, Obj, str], Awaitable[None]]


def _pure(change: Callable[[Obj], None]) -> Plugin:
    """A plugin that needs no look into the store."""

    async def admit(store: Store, obj: Obj, namespace: str) -> None:
        change(obj)

    return admit


PLUGINS: Final[dict[Resource, tuple[tuple[str, Plugin], ...]]] = {
    PODS: (
        ("ServiceAccount", admit_service_account),
        ("Priority", _pure(set_priority)),
        ("DefaultTolerationSeconds", _pure(lambda pod: add_default_tolerations(pod["spec"]))),
        ("RuntimeClass", _pure(check_runtime_class)),
    ),
    NODES: (("TaintNodesByCondition", _pure(taint_not_ready)),),
}
KNOWN_PLUGINS: Final = frozenset(name for plugins in PLUGINS.values() for name, _ in plugins)


class Plugins:
    """The plugins that are on."""

    def __init__(self, store: Store, disabled: frozenset[str] = frozenset()) -> None:
        self._store = store
        self._plugins = {
            resource: [plugin for name, plugin in plugins if name not in disabled]
            for resource, plugins in PLUGINS.items()
        }

    async def admit(self, kind: Kind, obj: Obj, namespace: str) -> None:
        for plugin in self._plugins.get(kind.resource, ()):
            await plugin(self._store, obj, namespace)
