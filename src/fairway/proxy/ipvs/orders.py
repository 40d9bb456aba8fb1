"""From virtual servers as planned to orders for IPVS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairway.kernel.ipvs import Balancing, Order, ServerName, Target, Verb, VirtualServer
from fairway.proxy.ipvs.draining import Draining
from fairway.proxy.ipvs.frontends import Frontend, Server
from fairway.proxy.model import Family, Protocol


def name_of(frontend: Frontend) -> ServerName:
    version = 4 if frontend.family is Family.IPV4 else 6
    return ServerName(version, str(frontend.protocol), frontend.address, frontend.port, frontend.mark)


def frontend_of(name: ServerName) -> Frontend:
    family = Family.IPV4 if name.version == 4 else Family.IPV6
    return Frontend(family, name.protocol, name.address, name.port, name.mark)


def balancing_of(server: Server) -> Balancing:
    return Balancing(server.scheduler, server.persistence, server.flags)


def targets_of(server: Server) -> dict[Target, int]:
    """With their weights."""
    return {Target(*target): 1 for target in server.targets}


Known = tuple[Balancing, dict[Target, int]]


def known_before(name: ServerName, planned: Server | None, draining: Draining) -> Known | None:
    """What the kernel holds of a server that was planned before."""
    if planned is None or not (planned.targets or draining.targets(name)):
        return None
    return balancing_of(planned), targets_of(planned)


def changes(
    name: ServerName, known: Known | None, wanted: Server | None, draining: Draining
) -> Iterator[Order]:
    """From what there is to what is wanted. Targets that are no longer wanted get no new connections from
    here on; whether they can be deleted yet is asked afterwards.
    """
    if wanted is None:
        draining.forget(name)
        if known is not None:
            yield Order(Verb.DELETE_SERVER, name)
        return
    balancing, before = known or (None, {})
    if balancing != balancing_of(wanted) and (known or wanted.targets):
        yield Order(Verb.SET_SERVER if known else Verb.ADD_SERVER, name, balancing_of(wanted))
    yield from _targets(name, before, targets_of(wanted), draining)
    # IPVS would refuse, too, but by ICMP, which the kernel limits to few a second; rules do it better.
    if known is not None and not wanted.targets and not draining.targets(name):
        yield Order(Verb.DELETE_SERVER, name)


def _targets(
    name: ServerName, before: Mapping[Target, int], after: Mapping[Target, int], draining: Draining
) -> Iterator[Order]:
    for target, weight in after.items():
        if target in draining.targets(name):
            draining.end(name, target)
            yield Order(Verb.SET_TARGET, name, target=target, weight=weight)
        elif target not in before:
            yield Order(Verb.ADD_TARGET, name, target=target, weight=weight)
        elif before[target] != weight:
            yield Order(Verb.SET_TARGET, name, target=target, weight=weight)
    for target in before:
        if target in after or target in draining.targets(name):
            continue
        if is_graceful(name):
            draining.begin(name, target)
            yield Order(Verb.SET_TARGET, name, target=target, weight=0)
        else:
            yield Order(Verb.DELETE_TARGET, name, target=target)


def is_graceful(name: ServerName) -> bool:
    """Datagrams would keep a dead endpoint busy for ever; nobody waits for them."""
    return name.protocol not in (Protocol.UDP, Protocol.SCTP)


def as_known(found: VirtualServer, wanted: Server | None) -> Known:
    """Flags aren't read; they are taken to be what they should be."""
    targets = {target: load.weight for target, load in found.targets.items()}
    return found.balancing._replace(flags=wanted.flags if wanted else 0), targets
