"""Endpoints may not lead to the virtual IP of another Service: nothing stands there to answer.

Virtual addresses are rewritten on the way to an endpoint, once; a second rewriting never happens.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairway.api.kind import Obj
from fairway.api.kinds.endpoints import ADDRESS_LISTS
from fairway.api.resources import IP_ADDRESSES
from fairway.api.validation.fields import invalid, invalid_value
from fairway.apiserver.commit import Rider
from fairway.apiserver.store import Store


class EndpointsGuard:
    """The companion of Endpoints."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def ride(self, new: Obj | None, old: Obj | None) -> Rider:
        if new is not None:
            detail = "may not be the cluster IP of another Service"
            errors = [
                invalid_value(field, ip, detail)
                for field, ip in addresses(new)
                if self._belongs_to_another(ip, new["metadata"])
            ]
            if errors:
                raise invalid("Endpoints", "", new["metadata"].get("name", ""), errors)
        return Rider()

    def _belongs_to_another(self, ip: str, metadata: Obj) -> bool:
        entry = self._store.bucket(IP_ADDRESSES).entries.get(ip)
        if entry is None:
            return False
        parent = (entry.obj().get("spec") or {}).get("parentRef") or {}
        place = (parent.get("namespace"), parent.get("name"))
        return parent.get("resource") == "services" and place != (
            metadata.get("namespace"),
            metadata.get("name"),
        )


def addresses(endpoints: Obj) -> Iterator[tuple[str, str]]:
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        for name in ADDRESS_LISTS:
            for position, address in enumerate(subset.get(name) or ()):
                yield f"subsets[{index}].{name}[{position}].ip", address.get("ip") or ""
