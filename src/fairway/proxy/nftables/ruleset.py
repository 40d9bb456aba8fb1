"""The constant part of the tables: maps, sets, base chains and their rules, the same for any set of Services.

Everything is text of the nft language, made for one address family at a time. Chains that choose among a
given number of endpoints are in `chains`; the elements that make up a Service are in `plan`.
"""

from __future__ import annotations

from fairway.proxy.model import Family, Protocol
from fairway.proxy.settings import Settings, in_family

TABLE = "fairway-proxy"
# Ids of endpoints travel in the packet's priority while a choice is made; these bits say that one does.
# Both the choice and the id are wiped before the packet leaves the hook. See docs/adr/011.
ID_MASK = "f000:0"
REFUSE = "goto refuse"


def frontend_key(family: Family, node_port: bool = False) -> str:
    """The expression that finds a packet's Service; node ports are kept under the unspecified address."""
    return f"{address_key(family, node_port)} . meta l4proto . th dport"


def address_key(family: Family, node_port: bool = False) -> str:
    return f"{family} daddr & {family.unspecified}" if node_port else f"{family} daddr"


def client_key(family: Family, node_port: bool = False) -> str:
    """The expression that finds what a client of a Service is tied to.

    nft 1.0.6 dies over rules that write to a map whose key has more than 16 bytes, so IPv6 has a hash for
    a key. Should two clients ever share one, they share an endpoint: an id is only good for its frontend.
    """
    whole = f"{frontend_key(family, node_port)} . {family} saddr"
    if family is Family.IPV4:
        return whole
    return " . ".join(f"jhash {whole} mod 4294967295 seed {seed}" for seed in ("0x1", "0x2"))


def _client_type(family: Family) -> str:
    integer = "numgen random mod 65536"
    return client_key(family) if family is Family.IPV4 else f"{integer} . {integer}"


def maps(family: Family) -> dict[str, str]:
    """Maps and sets by name, with their definitions. `affinity` is the only one that packets write to."""
    key = frontend_key(family)
    # `typeof` is the only way to have numgen in a key. Ports must be typed per protocol: nft 1.0.6 can't
    # read `th dport` in a map's data back from the kernel and then refuses every further rule that uses it.
    definitions = {
        COUNTED: f"map {COUNTED} {{ typeof {key} : verdict; counter; }}",
        "internal": f"map internal {{ typeof {key} : verdict; }}",
        "sticky-slots": f"map sticky-slots {{ typeof {key} . numgen random mod 65536 : meta priority; }}",
        "affinity": f"map affinity {{ typeof {_client_type(family)} : meta priority;"
        " size 1048576; flags dynamic,timeout; }",
        "firewalled": f"set firewalled {{ typeof {key}; }}",
        "allowed-sources": f"set allowed-sources {{ typeof {key} . {family} saddr; flags interval; }}",
        "hairpin": f"set hairpin {{ typeof {family} saddr . {family} daddr; }}",
        "cluster-ips": f"set cluster-ips {{ typeof {family} daddr; }}",
    }
    for name in CONFIGURED:
        definitions[name] = f"set {name} {{ typeof {family} daddr; flags interval; auto-merge; }}"
    for protocol in Protocol:
        target = f"{family} daddr . {protocol} dport"
        definitions[f"{protocol}-endpoints"] = (
            f"map {protocol}-endpoints {{ typeof {target} . numgen random mod 65536 : {target}; }}"
        )
        definitions[f"{protocol}-sticky"] = (
            f"map {protocol}-sticky {{ typeof {target} . meta priority : {target}; }}"
        )
    return definitions


# Filled from the configuration rather than from Services.
CONFIGURED = ("service-ranges", "nodeport-addresses")
# Its elements count packets: the first one of each connection. That takes no time that could be measured.
COUNTED = "services"
# What survives a full synchronisation: packets fill it, and clients rely on it across restarts.
KEPT = frozenset({"affinity"})

BASE_CHAINS = {
    "nat-prerouting": "type nat hook prerouting priority dstnat;",
    "nat-output": "type nat hook output priority -100;",
    "nat-postrouting": "type nat hook postrouting priority srcnat;",
    "after-prerouting": "type filter hook prerouting priority dstnat + 1;",
    "after-output": "type filter hook output priority -99;",
}


def chains(
    family: Family, settings: Settings, localhost_nodeports: bool = False
) -> dict[str, tuple[str, ...]]:
    """All constant chains with their rules."""
    return {
        "mark-masquerade": (f"meta mark set meta mark or {settings.masquerade_mark}",),
        "refuse": (_reset(), _unreachable(family)),
        "services": _services(family, settings, localhost_nodeports),
        "unroutable": _unroutable(family),
        "stray": _stray(family, settings),
        "nat-prerouting": ("jump services",),
        "nat-output": ("jump services",),
        "nat-postrouting": _postrouting(family, settings),
        "after-prerouting": (_forget_choice(), "ct state invalid goto stray"),
        "after-output": (_forget_choice(), "ct state invalid goto unroutable"),
    }


def _reset() -> str:
    return "meta l4proto tcp reject with tcp reset"


def _unreachable(family: Family) -> str:
    return (
        "reject with icmp port-unreachable"
        if family is Family.IPV4
        else "reject with icmpv6 port-unreachable"
    )


def _services(family: Family, settings: Settings, localhost_nodeports: bool) -> tuple[str, ...]:
    """The way of the first packet of every connection. Nothing here sees the packets that follow it."""
    key, node_key = frontend_key(family), frontend_key(family, node_port=True)
    narrowed = (
        f" {family} daddr @nodeport-addresses" if in_family(settings.nodeport_addresses, family) else ""
    )
    loopback = "127.0.0.0/8" if family is Family.IPV4 else "::1"
    # Replies to another host from a loopback address could not be routed back.
    elsewhere = "" if localhost_nodeports else f" {family} daddr != {loopback}"
    return (
        f"{key} @firewalled {key} . {family} saddr != @allowed-sources drop",
        f"{key} vmap @services",
        f"fib daddr type local{elsewhere}{narrowed} {node_key} vmap @services",
        # Left alone, a packet for an address that nobody holds would travel in circles between routers.
        f"{family} daddr @cluster-ips {REFUSE}",
        f"{family} daddr @service-ranges {REFUSE}",
    )


def _forget_choice() -> str:
    return f"ct state new meta priority & {ID_MASK} == {ID_MASK} meta priority set none"


def _unroutable(family: Family) -> tuple[str, ...]:
    """No NAT is done for packets that belong to no connection; they would travel in circles, too."""
    return f"{family} daddr @cluster-ips drop", f"{family} daddr @service-ranges drop"


def _stray(family: Family, settings: Settings) -> tuple[str, ...]:
    """Packets outside the window of their connection are not translated either. An endpoint's answer would
    reach a client that doesn't know the endpoint, and its reset would end the connection.

    A SYN or RST does no such harm, and is called invalid where answers take another way than questions.
    """
    harmful = "tcp flags & (syn | rst) == 0x0"
    cidrs = in_family(settings.cluster_cidrs, family)
    to_us = (f"{family} saddr {{ {', '.join(cidrs)} }} {harmful} drop",) if cidrs else ()
    # Answers to masqueraded clients are for this node itself.
    return ("jump unroutable", f"fib daddr type != local {harmful} drop", *to_us)


def _postrouting(family: Family, settings: Settings) -> tuple[str, ...]:
    mark = settings.masquerade_mark
    return (
        f"meta mark & {mark} == {mark} meta mark set meta mark xor {mark} masquerade fully-random",
        # An endpoint that reaches itself must see another address than its own, or it would answer itself.
        f"ct status dnat {family} saddr . {family} daddr @hairpin masquerade fully-random",
    )


def fixed_elements(family: Family, settings: Settings) -> dict[str, tuple[str, ...]]:
    ranges = (settings.service_ranges, settings.nodeport_addresses)
    return {name: in_family(entries, family) for name, entries in zip(CONFIGURED, ranges, strict=True)}
