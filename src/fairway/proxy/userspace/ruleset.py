"""The constant rules of this mode, in its own table: who comes to a Service is led to the relay.

The maps and the plans for Services are those of nftables mode, with a port of the relay in the place of
endpoints. What differs is here: nothing is masqueraded, strangers are kept from the relay's ports, and
answers to connections that appear as the client's are kept on this node.
"""

from __future__ import annotations

from fairway.proxy.model import Family
from fairway.proxy.nftables import ruleset
from fairway.proxy.nftables.layout import Layout
from fairway.proxy.settings import Settings
from fairway.proxy.userspace.messages import RANGE_V4, RANGE_V6

TABLE = "fairway-userspace"
# On a connection: it appears as another's; on a packet: it belongs to this node whatever its address says.
TRANSPARENT_MARK = 0x2000

_HOOKS = {
    "guard": "type filter hook input priority filter;",
    "mark-transparent": "type filter hook output priority mangle;",
    "keep-transparent": "type filter hook prerouting priority mangle;",
}


def relay_range(family: Family) -> str:
    return RANGE_V4 if family is Family.IPV4 else RANGE_V6


def _chains(family: Family, settings: Settings) -> dict[str, tuple[str, ...]]:
    mark = f"{TRANSPARENT_MARK:#x}"
    return ruleset.chains(family, settings, settings.localhost_nodeports) | {
        # The relay sees clients as they are; who is seen by backends is up to its own connections.
        "mark-masquerade": (),
        "nat-postrouting": (),
        "guard": (f"ct state new ct original {family} daddr {relay_range(family)} goto refuse",),
        "mark-transparent": (f"ct state new fib saddr type != local ct mark set ct mark or {mark}",),
        "keep-transparent": (
            f"ct direction reply ct mark & {mark} == {mark} meta mark set meta mark or {mark}",
        ),
    }


LAYOUT = Layout(TABLE, {**ruleset.BASE_CHAINS, **_HOOKS}, _chains)
