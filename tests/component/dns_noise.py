"""Noise for the DNS server: random messages, good ones with octets changed, and what must hold for answers.

`make fuzz` sends some millions (`python -m tests.component.dns_noise COUNT`); the suite sends a few thousand.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import struct
import sys

from fairway.dns import corefile, names, wire
from fairway.dns.chain import build
from fairway.dns.metrics import Metrics
from fairway.dns.plugin import Surroundings
from fairway.dns.responder import Responder
from fairway.dns.wire import Edns, Query
from tests.component.dns_support import StaticCluster, fixtures

COREFILE = """\
. {
    any
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
    }
    template IN A made.example {
        answer "{{ .Name }} 60 IN A 192.0.2.1"
    }
    loadbalance
}
"""
REWRITE = "    rewrite name suffix .corp.example .prod.svc.cluster.local answer auto\n"
"""Closes the short cuts, so that everything goes through the chain."""
NAMES = (
    "web.prod.svc.cluster.local.",
    "n1000.big.svc.cluster.local.",
    "_http._tcp.named.headless.svc.cluster.local.",
    "in.ext.svc.cluster.local.",
    "10-244-1-1.shop.pod.cluster.local.",
    "1.1.96.10.in-addr.arpa.",
    "nope.prod.svc.cluster.local.",
    "cluster.local.",
    "x.corp.example.",
    "y.made.example.",
    ".",
)
TYPES = (1, 2, 5, 6, 12, 15, 16, 28, 33, 41, 43, 65, 250, 251, 252, 255, 65535)


class Noise:
    """A responder as it serves, without sockets; messages go through the short cuts and through the chain."""

    def __init__(self, seed: int, rewrites: bool = False) -> None:
        self._rewrites = rewrites
        self.metrics = Metrics()
        cluster = StaticCluster(fixtures())
        around = Surroundings(
            cluster=lambda kubeconfig: cluster,
            read_file=lambda path: "",
            clock=lambda: 0.0,
            reload=self._never,
            fail=lambda error: None,
            not_ready=list,
            metrics=self.metrics,
        )
        text = COREFILE.replace("    any\n", f"    any\n{REWRITE}") if rewrites else COREFILE
        self._chains = build(corefile.parse(text), around)
        self.responder = Responder(self._chains, self.metrics)
        self.chance = random.Random(seed)

    async def _never(self) -> bool:
        return False

    async def start(self) -> None:
        for chain in self._chains:
            for plugin in chain.plugins:
                await plugin.start()

    def message(self) -> bytes:
        """Something that may come in a datagram."""
        chance = self.chance
        if chance.random() < 0.1:
            return chance.randbytes(chance.randrange(0, 120))
        edns = Edns(chance.randrange(0, 5000), chance.random() < 0.5) if chance.random() < 0.5 else None
        flags = wire.RD if chance.random() < 0.8 else chance.getrandbits(16)
        query = Query(7, names.from_text(chance.choice(NAMES)), chance.choice(TYPES), edns=edns, flags=flags)
        data = bytearray(wire.write_query(query))
        for _ in range(chance.choice((0, 0, 1, 1, 2, 8))):
            data[chance.randrange(len(data))] = chance.getrandbits(8)
        if chance.random() < 0.1:
            del data[chance.randrange(len(data)) :]
        if chance.random() < 0.1:
            data += chance.randbytes(chance.randrange(1, 40))
        return bytes(data)

    async def check(self, data: bytes) -> None:
        """Asks, and holds the answer against what must hold for every one."""
        lane = self.responder.lane
        assert (lane is None) == self._rewrites
        quick = lane.answer_datagram(data) if lane else None
        for answer in (quick, await self.responder.respond(data, "192.0.2.1", 4000, tcp=False)):
            if answer is not None:
                self._check_answer(data, answer)
        assert self.metrics.panics == 0, data.hex()

    def _check_answer(self, data: bytes, answer: bytes) -> None:
        about = f"{data.hex()} -> {answer.hex()}"
        assert len(data) >= 12, about
        assert not data[2] & 0x80, "an answer was answered: " + about
        assert answer[:2] == data[:2], about
        assert answer[2] & 0x80, about
        assert len(answer) <= allowed(data), about
        if answer[3] & 15 in (wire.FORMERR, wire.NOTIMP):
            assert len(answer) <= len(data) + 12, "amplified: " + about


def allowed(data: bytes) -> int:
    """The largest answer that may come back: what an OPT record allows, wherever it stands, else 512."""
    size = wire.PLAIN_UDP
    with contextlib.suppress(wire.WireError, struct.error):
        _, _, questions, *counts = struct.unpack_from("!HHHHHH", data)
        at = 12
        for _ in range(questions):
            at = wire.read_name(data, at)[1] + 4
        for _ in range(sum(counts)):
            record, at = wire.read_record(data, at)
            if record.type == wire.OPT:
                size = max(size, record.rdclass)
    return size


async def make_noise(count: int, seed: int) -> None:
    noise = Noise(seed, rewrites=seed % 2 == 1)
    await noise.start()
    for _ in range(count):
        await noise.check(noise.message())


if __name__ == "__main__":
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for round_ in range(max(1, total // 100_000)):
        asyncio.run(make_noise(min(total, 100_000), seed=random.randrange(2**32)))
        sys.stdout.write(f"{(round_ + 1) * min(total, 100_000):,} messages\n")
