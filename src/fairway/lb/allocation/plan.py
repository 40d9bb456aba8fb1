"""Who gets which address: a pure function of the pools and of what all Services ask for.

The status of a Service is the record of what it has. So there is nothing to lose in a restart: whoever
decides next reads the same record and leaves everybody where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fairway.lb.allocation.model import Request
from fairway.lb.allocation.pools import Address, Pool

ALLOCATED = "Allocated"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The addresses of a Service, or none and why, in words that say what to do about it."""

    addresses: tuple[Address, ...] = ()
    reason: str = ALLOCATED
    message: str = ""


class _Refused(Exception):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def allocate(
    pools: tuple[Pool, ...], requests: Iterable[Request], taken: Mapping[Address, str] = {}
) -> dict[str, Outcome]:
    """Those who have an address come first and keep it; then the others, the oldest first.

    `taken` are addresses that nobody may be given, with who has them: nodes, load balancers of others.
    """
    ledger = _Ledger(pools, taken)
    ordered = sorted(requests, key=lambda r: (r.created, r.key))
    kept = {r.key: Outcome(r.current) for r in ordered if r.current and ledger.keeps(r)}
    return kept | {r.key: ledger.decide(r) for r in ordered if r.key not in kept}


class _Ledger:
    def __init__(self, pools: tuple[Pool, ...], taken: Mapping[Address, str]) -> None:
        self._pools = pools
        self._taken = taken
        self._users: dict[Address, list[Request]] = {}

    def keeps(self, request: Request) -> bool:
        """Whether what a Service has is still what it may have and asks for."""
        versions = [address.version for address in request.current]
        complete = sorted(versions) == sorted(request.versions) or (
            request.partial and set(versions) <= set(request.versions) and len(set(versions)) == len(versions)
        )
        if not complete or request.problem or not set(request.wanted) <= set(request.current):
            return False
        if any(self._obstacle(request, address) for address in request.current):
            return False
        self._enter(request, request.current)
        return True

    def decide(self, request: Request) -> Outcome:
        try:
            if request.problem:
                raise _Refused("InvalidRequest", request.problem)
            found = self._choose(request)
        except _Refused as refused:
            return Outcome((), refused.reason, str(refused))
        self._enter(request, found)
        return Outcome(found)

    def _enter(self, request: Request, addresses: tuple[Address, ...]) -> None:
        for address in addresses:
            self._users.setdefault(address, []).append(request)

    def _choose(self, request: Request) -> tuple[Address, ...]:
        if not self._pools:
            raise _Refused(
                "NoPools", "there are no address pools: write some to ConfigMap kube-system/fairway-lb"
            )
        unfit = [a for a in request.wanted if a.version not in request.versions]
        if unfit:
            raise _Refused("WrongFamily", f"{unfit[0]} is of a family that spec.ipFamilies doesn't list")
        found: list[Address] = []
        refusal: _Refused | None = None
        for version in request.versions:
            try:
                found.append(self._choose_one(request, version))
            except _Refused as error:
                refusal = error
                if not request.partial:
                    raise
        if not found and refusal:
            raise refusal
        return tuple(found)

    def _choose_one(self, request: Request, version: int) -> Address:
        for address in request.wanted:
            if address.version == version:
                if reason := self._obstacle(request, address):
                    raise _Refused("AddressUnavailable", reason)
                return address
        for address in self._candidates(request, version):
            if not self._obstacle(request, address):
                return address
        raise _Refused("NoAddressFree", self._exhausted(request, version))

    def _candidates(self, request: Request, version: int) -> Iterator[Address]:
        """What it has already, then addresses that it could share, then all others in order."""
        pools = self._eligible_pools(request)
        for address in request.current:
            if address.version == version and any(pool.holds(address) for pool in pools):
                yield address
        if request.sharing.key:
            for address in sorted((a for a in self._users if a.version == version), key=int):
                if any(pool.holds(address) for pool in pools):
                    yield address
        for pool in pools:
            yield from (a for a in pool.addresses(version) if a not in self._users)

    def _eligible_pools(self, request: Request) -> tuple[Pool, ...]:
        if not request.pool:
            return tuple(pool for pool in self._pools if pool.auto_assign)
        named = tuple(pool for pool in self._pools if pool.name == request.pool)
        if not named:
            names = ", ".join(pool.name for pool in self._pools)
            raise _Refused("NoSuchPool", f"there is no pool {request.pool!r}; there are: {names}")
        return named

    def _obstacle(self, request: Request, address: Address) -> str:
        """Why a Service can't have an address; empty if it can."""
        pool = next((p for p in self._pools if p.holds(address)), None)
        if pool is None:
            ranges = ", ".join(f"{p.name} ({', '.join(map(str, p.ranges))})" for p in self._pools)
            return f"{address} is in no pool; ask for one of these, or extend a pool: {ranges}"
        if request.pool and pool.name != request.pool:
            return f"{address} is in pool {pool.name}, but the Service asks for pool {request.pool}"
        if owner := self._taken.get(address):
            return f"{address} belongs to {owner}"
        for other in self._users.get(address, ()):
            if reason := request.sharing.obstacle(other.sharing):
                return f"{address} is taken by Service {other.key}, and they can't share it: {reason}"
        return ""

    def _exhausted(self, request: Request, version: int) -> str:
        pools = self._eligible_pools(request)
        fitting = [pool.name for pool in pools if any(r.first.version == version for r in pool.ranges)]
        if not fitting:
            where = f"pool {request.pool}" if request.pool else "what the pools give out by themselves"
            return (
                f"there is no IPv{version} address in {where}; add some to ConfigMap kube-system/fairway-lb"
            )
        return (
            f"all IPv{version} addresses of {', '.join(fitting)} are taken; extend the pool in ConfigMap "
            "kube-system/fairway-lb, delete a Service, or share an address (annotation allow-shared-ip)"
        )
