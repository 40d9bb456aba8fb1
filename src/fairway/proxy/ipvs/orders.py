"""From virtual servers as planned to orders for IPVS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fairway.kernel.ipvs import Balancing, Order, ServerName, Target, Verb, VirtualServer
from fairway.proxy.ipvs.draining import Draining
from fairway.proxy.ipvs.frontends import Frontend, Server
from fairway.proxy.model import Family


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


class Known(NamedTuple):
    """What the kernel holds of a server: its targets with their weights."""

    balancing: Balancing
    targets: dict[Target, int]
    graceful: bool = True


def known_before(name: ServerName, planned: Server | None, draining: Draining) -> Known | None:
    """What the kernel holds of a server that was planned before."""
    if planned is None or not (planned.targets or draining.targets(name)):
        return None
    return Known(balancing_of(planned), targets_of(planned), planned.graceful)


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
    balancing = known.balancing if known else None
    if balancing != balancing_of(wanted) and (known or wanted.targets):
        yield Order(Verb.SET_SERVER if known else Verb.ADD_SERVER, name, balancing_of(wanted))
    yield from _added(name, known.targets if known else {}, targets_of(wanted), draining)
    if known is not None:
        yield from _removed(name, known, wanted, draining)
    # IPVS would refuse, too, but by ICMP, which the kernel limits to few a second; rules do it better.
    if known is not None and not wanted.targets and not draining.targets(name):
        yield Order(Verb.DELETE_SERVER, name)


def _added(
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


def _removed(name: ServerName, known: Known, wanted: Server, draining: Draining) -> Iterator[Order]:
    # A mark may have gone from a Service port to another one, of another protocol.
    graceful, after = known.graceful and wanted.graceful, targets_of(wanted)
    for target in known.targets:
        if target in after:
            continue
        if graceful:
            draining.begin(name, target)
            yield Order(Verb.SET_TARGET, name, target=target, weight=0)
        else:
            yield Order(Verb.DELETE_TARGET, name, target=target)


def as_known(found: VirtualServer, wanted: Server | None) -> Known:
    """Flags aren't read; they are taken to be what they should be. So is whether it was graceful."""
    targets = {target: load.weight for target, load in found.targets.items()}
    return Known(found.balancing._replace(flags=wanted.flags if wanted else 0), targets)
