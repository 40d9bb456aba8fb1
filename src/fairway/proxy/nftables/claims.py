"""Who may use an address and port that more than one Service wants.

A cluster IP wins over any other use of the same address, so nobody can take another Service's traffic by
listing its address as an external IP. Among equals the first by name wins, on every node alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairway.proxy.model import ServicePortName
from fairway.proxy.nftables.chains import Reach
from fairway.proxy.nftables.elements import Frontend


class Claims:
    """All claims to frontends, the strongest first."""

    def __init__(self) -> None:
        self._claims: dict[Frontend, list[tuple[bool, ServicePortName]]] = {}

    def holder(self, frontend: Frontend) -> ServicePortName | None:
        claims = self._claims.get(frontend)
        return claims[0][1] if claims else None

    def holders(self) -> dict[Frontend, ServicePortName]:
        return {frontend: claims[0][1] for frontend, claims in self._claims.items()}

    def change(
        self, name: ServicePortName, before: Mapping[Frontend, Reach], after: Mapping[Frontend, Reach]
    ) -> set[ServicePortName]:
        """Replace the claims of one Service port; returns the others that win or lose a frontend by it."""
        disturbed: set[ServicePortName] = set()
        if before == after:
            return disturbed
        for frontend, reach in before.items():
            if after.get(frontend) is not reach:
                disturbed |= self._release(frontend, (reach is not Reach.CLUSTER, name))
        for frontend, reach in after.items():
            if before.get(frontend) is not reach:
                disturbed |= self._claim(frontend, (reach is not Reach.CLUSTER, name))
        return disturbed

    def _claim(self, frontend: Frontend, claim: tuple[bool, ServicePortName]) -> set[ServicePortName]:
        claims = self._claims.get(frontend)
        if claims is None:
            self._claims[frontend] = [claim]
            return set()
        loser = {claims[0][1]} if claim < claims[0] else set()
        claims.append(claim)
        claims.sort()
        return loser

    def _release(self, frontend: Frontend, claim: tuple[bool, ServicePortName]) -> set[ServicePortName]:
        claims = self._claims[frontend]
        held = claims[0] == claim
        claims.remove(claim)
        if not claims:
            del self._claims[frontend]
        return {claims[0][1]} if held and claims else set()
