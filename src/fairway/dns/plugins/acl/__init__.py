"""`acl [ZONES…] { ACTION [type TYPES…] [net SOURCES…] }`: who may ask what.

The first rule that fits decides: `allow`, `block` (REFUSED), `filter` (an empty answer) or `drop` (none at
all).
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from fairway.dns import rdata, wire
from fairway.dns.arguments import in_zones, overlap, zones
from fairway.dns.corefile import Directive
from fairway.dns.plugin import Handler, Plugin, Request, Setup
from fairway.dns.wire import Edns, Reply
from fairway.dns.zone.zone import Zone

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_ACTIONS = ("allow", "block", "filter", "drop")
_BLOCKED, _FILTERED = 15, 17
_SIZE = 4096


@dataclass(frozen=True)
class Rule:
    """Fits questions of these types from these networks; None stands for any."""

    action: str
    types: frozenset[int] | None
    networks: tuple[Network, ...] | None

    def fits(self, rdtype: int, client: str) -> bool:
        if self.types is not None and rdtype not in self.types:
            return False
        if self.networks is None:
            return True
        address = ipaddress.ip_address(client)
        return any(address in network for network in self.networks)


@dataclass(frozen=True)
class Policy:
    zones: tuple[bytes, ...]
    rules: tuple[Rule, ...]


class Acl(Plugin):
    name = "acl"
    repeats = True

    def __init__(self, directives: Sequence[Directive], setup: Setup) -> None:
        super().__init__(directives, setup)
        self._policies = [
            Policy(zones(line, line.args, setup.zones), tuple(_rule(inner) for inner in line.body))
            for line in directives
        ]

    def passes(self, zone: Zone) -> bool:
        held = [held for policy in self._policies for held in policy.zones]
        return not overlap(zone.settings.zones, held)

    async def serve(self, request: Request, ahead: Handler) -> Reply | None:
        for policy in self._policies:
            if in_zones(request.name, policy.zones):
                match _action(policy, request):
                    case "block":
                        return _told(wire.REFUSED, _BLOCKED)
                    case "filter":
                        return _told(wire.NOERROR, _FILTERED)
                    case "drop":
                        return wire.SILENCE
        return await ahead(request)


def _action(policy: Policy, request: Request) -> str:
    fitting = (rule for rule in policy.rules if rule.fits(request.query.type, request.client))
    return next((rule.action for rule in fitting), "allow")


def _told(rcode: int, code: int) -> Reply:
    """An empty answer with an extended error (RFC 8914), sent to clients without EDNS too, as CoreDNS
    does."""
    return Reply(rcode, edns=Edns(_SIZE, do=True, options=struct.pack("!HHH", 15, 2, code)))


def _rule(line: Directive) -> Rule:
    if line.name not in _ACTIONS:
        raise line.error(
            f"plugin/acl: unexpected token '{line.name}'; expect 'allow', 'block', 'filter' or 'drop'"
        )
    types: set[int] | None = None
    networks: list[Network] | None = None
    section = ""
    for word in line.args:
        if word in ("type", "net"):
            section = word
        elif section == "type":
            types = _add_type(line, types, word)
        elif section == "net":
            networks = _add_network(line, networks, word)
        else:
            raise line.error(f"plugin/acl: unexpected token '{word}'; expect 'type' or 'net'")
    nets = tuple(networks) if networks else None
    return Rule(line.name, frozenset(types) if types else None, nets)


def _add_type(line: Directive, types: set[int] | None, word: str) -> set[int] | None:
    if word == "*":
        return None
    try:
        return (types or set()) | {rdata.type_number(word)}
    except rdata.RecordError:
        raise line.error(f"plugin/acl: unexpected token '{word}'; expect legal QTYPE") from None


def _add_network(line: Directive, networks: list[Network] | None, word: str) -> list[Network] | None:
    if word == "*":
        return None
    try:
        return [*(networks or ()), ipaddress.ip_network(word, strict=False)]
    except ValueError:
        raise line.error(f"plugin/acl: illegal CIDR notation '{word}'") from None


PLUGIN = Acl
