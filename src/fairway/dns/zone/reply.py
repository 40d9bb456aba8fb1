"""From a name and a type to the records of the answer: positive, NODATA or NXDOMAIN, always with the right
SOA.

The general path, in structures; `compiled` has the prebuilt messages of the common questions. Pure.
"""

from __future__ import annotations

import struct

import msgspec

from fairway.dns import names, wire
from fairway.dns.wire import Record, Reply
from fairway.dns.zone.model import EXISTS, VERSION_TTL, Node
from fairway.dns.zone.zone import Zone

_REFRESH, _RETRY, _EXPIRE = 7200, 1800, 86400
_SOA_TTL = 300
"""However long other records may be kept, that a name does not exist should not be believed for long."""
_MAX_CHAIN = 32
_ADDRESSES = (wire.A, wire.AAAA)


class Resolution(msgspec.Struct, frozen=True):
    """An answer of the zone. `exists`: False for NXDOMAIN at the name itself, so that others may be asked;
    `bare`: there are but names below this one; `external`: the name outside where a chain of CNAMEs leads
    on."""

    reply: Reply
    exists: bool = True
    bare: bool = False
    external: bytes = b""


def resolve(zone: Zone, name: bytes, rdtype: int) -> Resolution | None:
    """The zone's answer; None if the name is in none of its zones."""
    key = name.lower()
    origin = zone.zone_of(key)
    if origin is None:
        return None
    node = zone.find(key, origin)
    suffix = name[len(name) - len(origin) :]
    if node is None or (node.apex and rdtype == wire.TXT):
        # TXT at the apex: as CoreDNS answers it, though the name does exist.
        return Resolution(_negative(zone, suffix, wire.NXDOMAIN), exists=False)
    if node.cname and rdtype not in (wire.CNAME, wire.ANY):
        return _follow(zone, name, node, rdtype)
    answer = _records(zone, name, suffix, node, rdtype)
    if not answer:
        return Resolution(_negative(zone, suffix, wire.NOERROR), bare=node is EXISTS)
    return Resolution(Reply(wire.NOERROR, answer, (), _extras(zone, suffix, answer), wire.AA))


def _negative(zone: Zone, suffix: bytes, rcode: int) -> Reply:
    return Reply(rcode, (), (soa(zone, suffix),), (), wire.AA)


def soa(zone: Zone, origin: bytes) -> Record:
    """The SOA of a zone, written as the client wrote the zone's name."""
    ttl = zone.settings.ttl
    timers = struct.pack("!IIIII", zone.serial, _REFRESH, _RETRY, _EXPIRE, ttl)
    return Record(
        origin, wire.SOA, min(ttl, _SOA_TTL), b"\x02ns\x03dns" + origin + b"\x0ahostmaster" + origin + timers
    )


def _follow(zone: Zone, name: bytes, node: Node, rdtype: int) -> Resolution:
    """A chain of ExternalName Services: every CNAME, then what the last name has (RFC 1034 section 4.3.2).

    The rcode is that of the last name (RFC 6604). A loop gives the CNAMEs that lead into it.
    """
    chain: list[Record] = []
    seen = {name.lower()}
    home = zone.zone_of(name.lower())
    inside = 0
    if zone.settings.guarded and rdtype not in _ADDRESSES:
        return _kept_back(zone, name)
    while True:
        chain.append(Record(name, wire.CNAME, zone.settings.ttl, node.cname))
        name = node.cname
        origin = zone.zone_of(name)
        if origin is None:
            return Resolution(Reply(wire.NOERROR, tuple(chain), flags=wire.AA), external=name)
        inside = inside or (len(chain) if origin != home else 0)
        found = zone.find(name, origin)
        if found is None or not found.cname:
            return _end_of_chain(zone, chain, inside, origin, found, rdtype)
        if name in seen or len(chain) > _MAX_CHAIN:
            return Resolution(Reply(wire.NOERROR, tuple(chain), flags=wire.AA))
        seen.add(name)
        node = found


def _end_of_chain(
    zone: Zone, chain: list[Record], inside: int, origin: bytes, node: Node | None, rdtype: int
) -> Resolution:
    """`inside`: how many CNAMEs lead up to another of our zones, if any do."""
    name = chain[-1].data
    answer = _records(zone, name, origin, node, rdtype) if node else ()
    if not answer and (zone.settings.guarded or (node is None and zone.withholds(name, origin))):
        return _kept_back(zone, chain[0].name)
    if not answer and node and inside:
        # What another zone lacks is that zone's to say: the client learns where to ask.
        return Resolution(Reply(wire.NOERROR, tuple(chain[:inside]), flags=wire.AA))
    rcode = wire.NXDOMAIN if node is None else wire.NOERROR
    authority = () if answer else (soa(zone, origin),)
    extras = _extras(zone, origin, answer)
    return Resolution(Reply(rcode, (*chain, *answer), authority, extras, wire.AA))


def _kept_back(zone: Zone, name: bytes) -> Resolution:
    """No data in place of an alias, whose target is not for everyone to know."""
    size = len(zone.zone_of(name.lower()) or b"")
    return Resolution(_negative(zone, name[len(name) - size :], wire.NOERROR))


def _records(zone: Zone, name: bytes, origin: bytes, node: Node, rdtype: int) -> tuple[Record, ...]:
    ttl = zone.settings.ttl
    match rdtype:
        case wire.A:
            return tuple(Record(name, wire.A, ttl, address) for address in node.a)
        case wire.AAAA:
            return tuple(Record(name, wire.AAAA, ttl, address) for address in node.aaaa)
        case wire.SRV:
            return tuple(
                Record(name, wire.SRV, ttl, struct.pack("!HHH", 0, t.weight, t.port) + t.name + origin)
                for t in node.srv
            )
        case wire.PTR:
            primary = zone.settings.primary
            return tuple(Record(name, wire.PTR, ttl, target + primary) for target in node.ptr)
        case wire.TXT if node.txt:
            return (Record(name, wire.TXT, VERSION_TTL, node.txt),)
        case wire.CNAME if node.cname:
            return (Record(name, wire.CNAME, ttl, node.cname),)
        case wire.SOA if node.apex:
            return (soa(zone, name),)
        case wire.NS if node.apex and _has_servers(zone, origin.lower()):
            primary = zone.settings.primary if zone.settings.primary != names.ROOT else origin
            return tuple(Record(name, wire.NS, ttl, server + primary) for server in zone.name_servers())
        case wire.ANY:
            return _any(zone, name, origin, node)
    return ()


def _has_servers(zone: Zone, origin: bytes) -> bool:
    """Behind a Service every zone has a name server. Else only the main ones: nobody could reach the others'
    by its name."""
    main = origin == zone.settings.zones[0] == zone.settings.primary
    return main or zone.served_by_service or origin in (names.IN_ADDR, names.IP6)


def _any(zone: Zone, name: bytes, origin: bytes, node: Node) -> tuple[Record, ...]:
    """One RRset of the name stands for all (RFC 8482 section 4.1)."""
    for rdtype in (wire.CNAME, wire.A, wire.AAAA, wire.SRV, wire.PTR, wire.TXT, wire.SOA):
        found = _records(zone, name, origin, node, rdtype)
        if found:
            return found
    return ()


def _extras(zone: Zone, suffix: bytes, answer: tuple[Record, ...]) -> tuple[Record, ...]:
    """The addresses of the hosts that SRV and NS records name."""
    targets = dict.fromkeys(r.data[6:] for r in answer if r.type == wire.SRV)
    targets |= dict.fromkeys(r.data for r in answer if r.type == wire.NS)
    found: list[Record] = []
    for target in targets:
        origin = zone.zone_of(target.lower())
        node = zone.find(target.lower(), origin) if origin else None
        if node and origin:
            found += _records(zone, target, suffix, node, wire.A)
            found += _records(zone, target, suffix, node, wire.AAAA)
    return tuple(found)
