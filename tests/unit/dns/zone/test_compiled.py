"""Prebuilt messages: they must say what the general path says, and change when the zone does."""

from __future__ import annotations

import struct
from collections import Counter

import dns.message
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.dns import names, wire
from fairway.dns.wire import Edns, Query
from fairway.dns.zone.compiled import PLAIN, Compiled, Shuffled
from fairway.dns.zone.reply import resolve
from tests.unit.dns.zone.objects import CLUSTER, World, endpoint, external, piece, service

WEB = "web.prod.svc.cluster.local."


class Answering(World):
    def __init__(self, shuffle: bool = True) -> None:
        super().__init__()
        passes_on = lambda name: names.is_under(name, names.IN_ADDR)  # noqa: E731
        self.compiled = Compiled(self.zone, shuffle, passes_on, frozenset((CLUSTER,)))

    def ask(self, name: str, rdtype: int = wire.A, **rest: object) -> bytes | None:
        query = Query(0x4242, names.from_text(name), rdtype, **rest)  # type: ignore[arg-type]
        return self.compiled.answer_datagram(wire.write_query(query))

    def general(self, name: str, rdtype: int = wire.A, edns: Edns | None = None) -> bytes:
        query = Query(0x4242, names.from_text(name), rdtype, edns=edns)
        resolution = resolve(self.zone, query.name, rdtype)
        assert resolution is not None
        return wire.write_reply(query, resolution.reply, max(512, edns.size if edns else 0))


def same(one: bytes | None, other: bytes) -> bool:
    assert one is not None
    return dns.message.from_wire(one).to_text() == dns.message.from_wire(other).to_text()


def test_a_plain_question_is_one_look_up() -> None:
    world = Answering()
    world.put(service())
    query = wire.write_query(Query(0x1234, names.from_text(WEB), wire.A))
    assert query[2:12] == PLAIN
    prebuilt = world.compiled.answers[query[12:]]
    assert isinstance(prebuilt, bytes)
    assert dns.message.from_wire(query[:2] + prebuilt).answer[0].to_text() == f"{WEB} 5 IN A 10.96.0.7"


@pytest.mark.parametrize(
    "name", [WEB, "WeB.pRoD.svc.cluster.LOCAL.", "nope.prod.svc.cluster.local.", "prod.svc.cluster.local."]
)
@pytest.mark.parametrize("rdtype", [wire.A, wire.AAAA, wire.SRV, wire.MX, 65])
@pytest.mark.parametrize("edns", [None, Edns(1232), Edns(4096, True), Edns(100)])
def test_short_cuts_and_general_path_agree(name: str, rdtype: int, edns: Edns | None) -> None:
    world = Answering()
    world.put(service(), piece(endpoint("10.244.0.1")))
    for _ in range(2):
        assert same(world.ask(name, rdtype, edns=edns), world.general(name, rdtype, edns))


def test_the_question_comes_back_in_the_case_it_was_asked() -> None:
    world = Answering()
    world.put(service())
    mixed = "wEB.Prod.SVC.cluster.local."
    answer = world.ask(mixed)
    assert answer is not None
    assert dns.message.from_wire(answer).question[0].name.to_text() == mixed


def test_flags_of_the_question_are_copied_as_they_must() -> None:
    world = Answering()
    world.put(service())
    for flags, expected in ((0, 0x8400), (wire.RD, 0x8500), (wire.RD | wire.CD | wire.AD, 0x8510)):
        answer = world.ask(WEB, flags=flags)
        assert answer is not None
        assert struct.unpack_from("!H", answer, 2)[0] == expected


def test_changes_are_seen_by_the_very_next_question() -> None:
    world = Answering()
    for rdtype, edns in ((wire.A, None), (wire.A, Edns()), (wire.AAAA, None)):
        world.remove(service())
        for wanted in (3, 0, 3):
            answer = world.ask(WEB, rdtype, edns=edns)
            assert answer is not None
            assert answer[3] & 15 == wanted
            world.put(service()) if wanted else world.remove(service())


NEIGHBOURS = ["a", "B", "x" * 63, "web", "WEB", "_http", "10-244-0-1", "a.b", "web.web", "_tcp.web"]


@pytest.mark.parametrize(
    "domain", ["prod.svc", "web.prod.svc", "x.prod.svc", "dev.svc", "svc", "pod", "_tcp"]
)
@pytest.mark.parametrize("rdtype", [wire.A, wire.SRV])
def test_that_neighbours_were_denied_changes_no_answer(domain: str, rdtype: int) -> None:
    world = Answering()
    world.put(service(), piece(endpoint("10.244.0.1")))
    world.put(service("head", clusterIP="None"), piece(endpoint("10.244.0.1", hostname="a"), name="head"))
    for label in (*NEIGHBOURS, *reversed(NEIGHBOURS)):
        name = f"{label}.{domain}.cluster.local."
        assert same(world.ask(name, rdtype), world.general(name, rdtype)), name


def test_a_name_denied_with_its_neighbours_is_there_once_its_service_is() -> None:
    world = Answering()
    for label in ("a", "b", "new"):
        denied = world.ask(f"{label}.prod.svc.cluster.local.")
        assert denied is not None
        assert denied[3] & 15 == wire.NXDOMAIN
    world.put(service("new"))
    for label, rcode in (("a", wire.NXDOMAIN), ("new", wire.NOERROR), ("NEW", wire.NOERROR)):
        answer = world.ask(f"{label}.prod.svc.cluster.local.")
        assert answer is not None
        assert answer[3] & 15 == rcode


def test_new_namespaces_are_seen_by_the_very_next_question() -> None:
    world = Answering()
    for _ in range(2):
        answer = world.ask("dev.svc.cluster.local.")
        assert answer is not None
        assert answer[3] & 15 == wire.NXDOMAIN
    world.namespace("dev")
    answer = world.ask("dev.svc.cluster.local.")
    assert answer is not None
    assert answer[3] & 15 == wire.NOERROR


def test_nothing_prebuilt_outlives_its_service() -> None:
    world = Answering()
    web, slices = (
        service(clusterIP="None"),
        piece(endpoint("10.244.0.1", hostname="a"), endpoint("10.244.0.2")),
    )
    world.put(web, slices)
    assert world.compiled.answers
    world.remove(slices)
    world.remove(web)
    assert not world.compiled.answers


def test_every_endpoint_comes_first_about_equally_often() -> None:
    world = Answering()
    world.put(service(clusterIP="None"), piece(*(endpoint(f"10.244.0.{i}") for i in range(5))))
    query = wire.write_query(Query(1, names.from_text(WEB), wire.A))
    prebuilt = world.compiled.answers[query[12:]]
    assert isinstance(prebuilt, Shuffled)
    firsts = Counter(prebuilt.pick()[len(query) - 2 :][12:16] for _ in range(5000))
    assert len(firsts) == 5
    assert min(firsts.values()) > 800
    for _ in range(20):
        assert same_records(query[:2] + prebuilt.pick(), world.general(WEB))


def same_records(one: bytes, other: bytes) -> bool:
    return set(dns.message.from_wire(one).answer[0]) == set(dns.message.from_wire(other).answer[0])


def test_without_loadbalance_the_order_stays() -> None:
    world = Answering(shuffle=False)
    world.put(service(clusterIP="None"), piece(*(endpoint(f"10.244.0.{i}") for i in range(5))))
    assert len({world.ask(WEB) for _ in range(20)}) == 1


def test_what_does_not_fit_a_datagram_is_cut_with_tc_and_still_shuffled() -> None:
    world = Answering()
    world.put(service(clusterIP="None"), piece(*(endpoint(f"10.244.0.{i}") for i in range(100))))
    found = {world.ask(WEB) for _ in range(5)}
    assert len(found) > 1
    for answer in found:
        assert answer is not None
        assert len(answer) <= 512
        assert answer[2] & 2


@pytest.mark.parametrize(
    ("name", "rdtype"),
    [
        ("example.com.", wire.A),
        ("alias.prod.svc.cluster.local.", wire.A),
        ("cluster.local.", wire.SOA),
        ("8.8.8.8.in-addr.arpa.", wire.PTR),
        ("10.in-addr.arpa.", wire.PTR),
        (WEB, wire.ANY),
        (WEB, wire.AXFR),
        (WEB, wire.TXT),
    ],
)
def test_what_others_may_have_a_say_in_goes_through_the_chain(name: str, rdtype: int) -> None:
    world = Answering()
    world.put(service(), external("alias", "example.com"))
    assert world.ask(name, rdtype) is None


@settings(max_examples=300)
@given(st.binary(max_size=80))
def test_random_bytes_are_answered_or_handed_on(data: bytes) -> None:
    world = Answering()
    world.put(service())
    world.compiled.answer_datagram(data)
    world.compiled.answer(b"\x42\x42" + PLAIN + data, 512)


@settings(max_examples=200)
@given(st.data())
def test_a_question_with_octets_changed_gets_a_readable_answer_or_none(data: st.DataObject) -> None:
    world = Answering()
    world.put(service())
    query = bytearray(wire.write_query(Query(7, names.from_text(WEB), wire.A, edns=Edns())))
    for _ in range(data.draw(st.integers(1, 3))):
        query[data.draw(st.integers(2, len(query) - 1))] = data.draw(st.integers(0, 255))
    answer = world.compiled.answer_datagram(bytes(query))
    if answer is not None:
        assert dns.message.from_wire(answer).id == 7


def test_the_memory_of_repeated_questions_is_bounded() -> None:
    world = Answering()
    for number in range(20_000):
        world.ask(f"host-{number}.prod.svc.cluster.local.")
    assert len(world.compiled._memo) <= 16384
