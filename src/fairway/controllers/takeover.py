"""Carries out what `owners.claim` found: takes what is an owner's, lets go of what is not."""

from __future__ import annotations

from fairway.api.objects import ObjectMeta
from fairway.api.resources import Resource
from fairway.controllers.cluster import Cluster
from fairway.controllers.owners import Claim, Owned, adoption, controller_reference, release


async def take_over(
    cluster: Cluster, kind: Resource, owner: ObjectMeta, dependents: Resource, claimed: Claim[Owned]
) -> bool:
    """Whether anything changed hands; then the cache shows it, and the owner is to be looked at anew."""
    if not claimed.adopt and not claimed.release:
        return False
    reference = controller_reference(kind, owner)
    if claimed.adopt:
        await cluster.check_alive(kind, owner)
    await cluster.apply(adoption(dependents, item.metadata, reference) for item in claimed.adopt)
    await cluster.apply(release(dependents, item.metadata, owner.uid) for item in claimed.release)
    return True
