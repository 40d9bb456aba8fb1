"""A work bench for plugins: one server block, a clock that is set by hand, and someone behind to ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fairway.dns import names, wire
from fairway.dns.chain import Chain, build
from fairway.dns.corefile import parse
from fairway.dns.plugin import Handler, Plugin, Request, Surroundings
from fairway.dns.rdata import record, type_number
from fairway.dns.wire import Edns, Query, Reply
from fairway.dns.zone.zone import Zone


class NoCluster:
    """A cluster with nothing in it."""

    def fills(self, zone: Zone) -> bool:
        return True

    def recalls(self, zone: Zone) -> bool:
        return False

    def attach(self, zone: Zone) -> None:
        zone.flush()

    def detach(self, zone: Zone) -> None:
        pass


@dataclass
class Bench:
    """`lines` is the inside of a server block; the files are what plugins may read."""

    lines: str
    zones: str = "."
    files: dict[str, str] = field(default_factory=dict)
    time: float = 1000.0

    def __post_init__(self) -> None:
        around = Surroundings(
            cluster=lambda kubeconfig: NoCluster(),
            read_file=self.read_file,
            clock=lambda: self.time,
            reload=self._reload,
            fail=lambda error: None,
            not_ready=list,
        )
        self.metrics = around.metrics
        self.chain: Chain = build(parse(f"{self.zones} {{\n{self.lines}\n}}"), around)[0]

    def read_file(self, path: str) -> str:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    async def _reload(self) -> bool:
        return False

    def plugin(self, name: str) -> Plugin:
        found = self.chain.plugin(name)
        assert found is not None
        return found


def question(
    name: str,
    rdtype: str = "A",
    *,
    client: str = "10.0.0.1",
    tcp: bool = False,
    flags: int = wire.RD,
    edns: Edns | None = None,
    rdclass: int = wire.IN,
    lookup: Callable[[bytes, int], Reply] = lambda name, rdtype: Reply(wire.SERVFAIL),
) -> Request:
    async def look_up(request: Request, name: bytes, rdtype: int) -> Reply:
        return lookup(name, rdtype)

    query = Query(1, names.from_text(name), type_number(rdtype), rdclass, flags, edns)
    return Request(query, client, tcp, look_up)


def answer(*texts: str, rcode: int = wire.NOERROR, foreign: bool = True, **rest: object) -> Reply:
    """A reply with these records in its answer section."""
    return Reply(rcode, tuple(record(text) for text in texts), foreign=foreign, **rest)  # type: ignore[arg-type]


def denial(
    soa: str = "up.test. 60 IN SOA ns.up.test. admin.up.test. 1 2 3 4 60", rcode: int = wire.NXDOMAIN
) -> Reply:
    return Reply(rcode, (), (record(soa),), foreign=True)


@dataclass
class Behind:
    """Who stands behind the plugin: answers what it is told and remembers what it was asked."""

    reply: Reply | Callable[[Request], Reply | None] | None = None
    asked: list[Request] = field(default_factory=list)

    @property
    def handler(self) -> Handler:
        async def ahead(request: Request) -> Reply | None:
            self.asked.append(request)
            return self.reply(request) if callable(self.reply) else self.reply

        return ahead

    @property
    def names(self) -> list[str]:
        return [names.to_text(request.name) for request in self.asked]


def texts(reply: Reply | None) -> list[tuple[str, int, int]]:
    """Owner, type and TTL of the records of an answer."""
    assert reply is not None
    return [(names.to_text(r.name), r.type, r.ttl) for r in reply.answer]
