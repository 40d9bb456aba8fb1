"""What the DNS benchmark asks: kinds of questions as dnsperf reads them, and the names behind them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

SERVICES = 10_000
HEADLESS = 20
ENDPOINTS = 100
OUTSIDE = 200
DIFFERENT = 50_000
"""Questions in a file: dnsperf begins anew at its end."""
ZONE = "cluster.local"
_SEARCH = (f"default.svc.{ZONE}", f"svc.{ZONE}", ZONE)


@dataclass(frozen=True)
class Kind:
    """One kind of question: how one is made up, options of dnsperf, and whether knot is asked the same."""

    about: str
    make: Callable[[random.Random], list[str]]
    options: tuple[str, ...] = ()
    goal: str = "not slower than CoreDNS, 66,000"

    def lines(self) -> str:
        chance = random.Random(1)
        found: list[str] = []
        while len(found) < DIFFERENT:
            found += self.make(chance)
        return "".join(line + "\n" for line in found)


def service_name(number: int) -> str:
    return f"service-{number}"


def headless_name(number: int) -> str:
    return f"headless-{number}"


def outside_name(number: int) -> str:
    return f"host-{number}.example.test"


def _service(chance: random.Random) -> str:
    return f"{service_name(chance.randrange(SERVICES))}.default.svc.{ZONE}"


def _mixed(chance: random.Random) -> str:
    return "".join(chance.choice((c.lower(), c.upper())) for c in _service(chance))


def _stranger(chance: random.Random) -> str:
    return f"x{chance.randrange(10**9)}.default.svc.{ZONE}"


def _headless(chance: random.Random) -> str:
    return f"{headless_name(chance.randrange(HEADLESS))}.default.svc.{ZONE}"


def _searched(chance: random.Random) -> list[str]:
    """What a Pod with `ndots:5` asks for a Service of its namespace, one of another, and a host outside."""
    own = [f"{_service(chance)} {rdtype}" for rdtype in ("A", "AAAA")]
    other = f"{service_name(chance.randrange(SERVICES))}.default"
    host = outside_name(chance.randrange(OUTSIDE))
    return [
        *own,
        *(f"{other}.{domain} A" for domain in _SEARCH[:2]),
        *(f"{host}.{domain} {rdtype}" for domain in _SEARCH for rdtype in ("A", "AAAA")),
    ]


KINDS = (
    Kind("hit", lambda c: [f"{_service(c)} A"], goal="0.8 of knot; 110,000 on a quiet machine"),
    Kind("NXDOMAIN, all different", lambda c: [f"{_stranger(c)} A"]),
    Kind("mixed case (0x20)", lambda c: [f"{_mixed(c)} A"]),
    Kind("EDNS with a cookie", lambda c: [f"{_service(c)} A"], ("-E", "10:0102030405060708")),
    Kind("AAAA, no data", lambda c: [f"{_service(c)} AAAA"]),
    Kind("headless, 100 addresses", lambda c: [f"{_headless(c)} A"], ("-e", "-b", "4096")),
    Kind("SRV", lambda c: [f"_http._tcp.{_service(c)} SRV"]),
    Kind("search path of a Pod", _searched),
)
OUTSIDE_KIND = Kind("forwarded, cached", lambda c: [f"{outside_name(c.randrange(OUTSIDE))} A"])
