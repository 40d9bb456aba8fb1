"""Follows namespaces and their `default` ServiceAccounts, and makes those that are missing."""

from __future__ import annotations

from fairway.api.resources import NAMESPACES, SERVICE_ACCOUNTS
from fairway.client import AlreadyExists
from fairway.controllers.cache import Item
from fairway.controllers.cluster import Bare, Cluster
from fairway.controllers.loop import Loop
from fairway.controllers.namespaces import Namespace
from fairway.controllers.serviceaccount.plan import DEFAULT, plan

NAME = "serviceaccount-controller"


class ServiceAccountController:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._namespaces = cluster.cache(NAMESPACES, Namespace)
        self._accounts = cluster.cache(SERVICE_ACCOUNTS, Bare)
        self.loop = Loop(NAME, self.sync)
        self._namespaces.on_change(lambda key, _old, _new: self.loop.add(key))
        self._accounts.on_change(self._account_changed)

    async def sync(self, key: str) -> None:
        present = self._accounts.get(f"{key}/{DEFAULT}") is not None
        try:
            await self._cluster.apply(plan(self._namespaces.get(key), present).writes)
        except AlreadyExists:
            return

    def _account_changed(self, _key: str, old: Item | None, new: Item | None) -> None:
        if new is None and old is not None and old.metadata.name == DEFAULT:
            self.loop.add(old.metadata.namespace)
