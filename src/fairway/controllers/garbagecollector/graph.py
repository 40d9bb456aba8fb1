"""Who owns whom, over all kinds: objects by uid, and the dependents of each."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from fairway.api.objects import ObjectMeta, OwnerReference
from fairway.api.resources import Resource

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Thing:
    """Any object of the cluster."""

    resource: Resource
    meta: ObjectMeta

    @property
    def owners(self) -> list[OwnerReference]:
        return self.meta.owner_references or []

    @property
    def is_going(self) -> bool:
        return self.meta.deletion_timestamp is not None

    def is_meant_by(self, ref: OwnerReference, dependent: Thing) -> bool:
        """Whether a reference with our uid names us truly; things without a namespace may own any."""
        named = (ref.api_version, ref.kind, ref.name)
        mine = (self.resource.api_version, self.resource.kind, self.meta.name)
        return named == mine and self.meta.namespace in ("", dependent.meta.namespace)

    def has(self, finalizer: str) -> bool:
        return finalizer in (self.meta.finalizers or ())

    @property
    def waits_for_dependents(self) -> bool:
        return self.is_going and self.has(FOREGROUND)


class Graph:
    def __init__(self) -> None:
        self._things: dict[str, Thing] = {}
        self._dependents: dict[str, dict[str, Thing]] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()

    def get(self, uid: str) -> Thing | None:
        return self._things.get(uid)

    def dependents(self, uid: str) -> list[Thing]:
        return list(self._dependents.get(uid, {}).values())

    def saw_go(self, uid: str) -> bool:
        """A uid never comes back: an owner once seen to go needs no asking after."""
        return uid in self._gone

    def put(self, thing: Thing) -> None:
        uid = thing.meta.uid
        self._forget_owners(uid)
        self._things[uid] = thing
        for owner in thing.owners:
            self._dependents.setdefault(owner.uid, {})[uid] = thing

    def remove(self, uid: str) -> None:
        self._forget_owners(uid)
        self._things.pop(uid, None)
        self._gone[uid] = None
        if len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)

    def _forget_owners(self, uid: str) -> None:
        before = self._things.get(uid)
        for owner in before.owners if before else ():
            siblings = self._dependents.get(owner.uid)
            if siblings is not None:
                siblings.pop(uid, None)
                if not siblings:
                    del self._dependents[owner.uid]
