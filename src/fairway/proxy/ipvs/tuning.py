"""The kernel settings that this mode needs, and those that strict ARP asks for."""

from __future__ import annotations

from typing import Protocol

# Without conntrack IPVS' packets can't be masqueraded. The others make clients leave a real server that has
# gone at once, rather than when their connection or their tie to it would time out.
ALWAYS = {
    "net/ipv4/vs/conntrack": "1",
    "net/ipv4/vs/expire_nodest_conn": "1",
    "net/ipv4/vs/expire_quiescent_template": "1",
}
# The node answers ARP for an address only where it is configured: not for those of the dummy device.
STRICT_ARP = {"net/ipv4/conf/all/arp_ignore": "1", "net/ipv4/conf/all/arp_announce": "2"}


class Sysctls(Protocol):
    def write(self, name: str, value: str) -> str:
        """Returns what it was before."""


class Tuning:
    """Remembers what it changed of the host's own settings, to put that back."""

    def __init__(self, sysctls: Sysctls) -> None:
        self._sysctls = sysctls
        self._before: dict[str, str] = {}

    def apply(self, strict_arp: bool) -> None:
        for name, value in ALWAYS.items():
            self._sysctls.write(name, value)
        if not strict_arp:
            self.restore()
            return
        for name, value in STRICT_ARP.items():
            self._before.setdefault(name, self._sysctls.write(name, value))

    def restore(self) -> None:
        for name, value in self._before.items():
            self._sysctls.write(name, value)
        self._before = {}
