"""DNS messages between bytes and structures; dnspython is the other opinion."""

from __future__ import annotations

import struct

import dns.flags
import dns.message
import dns.rrset
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.dns import names, wire
from fairway.dns.layout import WireError, read_name
from fairway.dns.wire import Edns, Malformed, Query, Record, Reply

NAME = names.from_text("web.prod.svc.cluster.local.")
HEADER = struct.Struct("!HHHHHH")


def reply_of(text: str) -> Reply:
    """What is read of an answer that dnspython wrote."""
    message = dns.message.from_text(text)
    question = message.question[0]
    query = Query(message.id, question.name.to_wire(), int(question.rdtype))
    found = wire.read_reply(message.to_wire(), query)
    assert found is not None
    return found


# ---- no bytes are too strange ------------------------------------------------------------------------------


@given(st.binary(max_size=600))
def test_random_bytes_never_raise_anything_but_malformed(data: bytes) -> None:
    if len(data) >= 12:
        try:
            wire.read_query(data)
        except Malformed as error:
            wire.write_error(data, error.rcode, error.question)


@given(st.binary(max_size=300), st.integers(0, 3), st.integers(0, 3))
def test_random_bytes_behind_a_good_header_never_raise(tail: bytes, answers: int, extras: int) -> None:
    data = HEADER.pack(1, wire.QR, 1, answers, 0, extras) + NAME + b"\0\1\0\1" + tail
    try:
        wire.read_reply(data, Query(1, NAME, wire.A))
    except WireError:
        pass


@given(st.data())
def test_a_query_with_any_octet_changed_is_read_or_refused(data: st.DataObject) -> None:
    good = bytearray(wire.write_query(Query(7, NAME, wire.SRV, edns=Edns(options=b"\0\x0a\0\x02ab"))))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    try:
        wire.read_query(bytes(good))
    except Malformed:
        pass


@pytest.mark.parametrize(
    "tail",
    [
        b"\xc0\x0c",
        b"\xc0\x0e\xc0\x0c",
        b"\x01a\xc0\x0c",
        b"\xff\xff",
        b"\xc0\x00",
        b"\xc0",
        b"\x40ab\0",
        b"\x80a\0",
    ],
    ids=["itself", "loop of two", "label before loop", "past the end", "header", "cut", "type 01", "type 10"],
)
def test_pointers_that_lead_nowhere_are_refused(tail: bytes) -> None:
    with pytest.raises(WireError):
        read_name(bytes(12) + tail, 12)


def test_names_longer_than_255_octets_are_refused_even_through_pointers() -> None:
    long = (b"\x3f" + b"a" * 63) * 3
    data = bytes(12) + long + b"\0" + b"\x3f" + b"b" * 63 + b"\xc0\x0c"
    with pytest.raises(WireError):
        read_name(data, 12 + len(long) + 1)


# ---- queries -----------------------------------------------------------------------------------------------


@given(st.integers(0, 65535), st.integers(0, 65535), st.booleans(), st.integers(0, 65535))
def test_queries_survive_writing_and_reading(ident: int, rdtype: int, do: bool, size: int) -> None:
    query = Query(ident, NAME, rdtype, flags=wire.RD | wire.CD, edns=Edns(size, do))
    assert wire.read_query(wire.write_query(query)) == query
    dns.message.from_wire(wire.write_query(query))


@pytest.mark.parametrize(
    ("counts", "rcode"),
    [
        ((0, 0, 0, 0), wire.FORMERR),
        ((2, 0, 0, 0), wire.FORMERR),
        ((1, 2, 0, 0), wire.FORMERR),
        ((1, 0, 0, 3), wire.FORMERR),
    ],
)
def test_wrong_counts_are_format_errors(counts: tuple[int, ...], rcode: int) -> None:
    with pytest.raises(Malformed) as error:
        wire.read_query(HEADER.pack(1, wire.RD, *counts) + NAME + b"\0\1\0\1")
    assert error.value.rcode == rcode


@pytest.mark.parametrize("opcode", [1, 2, 4, 5, 6, 15])
def test_other_opcodes_are_not_implemented(opcode: int) -> None:
    data = HEADER.pack(1, opcode << 11 | wire.RD, 1, 0, 0, 0) + NAME + b"\0\1\0\1"
    with pytest.raises(Malformed) as error:
        wire.read_query(data)
    assert error.value.rcode == wire.NOTIMP
    answer = wire.write_error(data, error.value.rcode)
    assert struct.unpack_from("!H", answer, 2)[0] == wire.QR | opcode << 11 | wire.RD | wire.NOTIMP


def test_two_opt_records_are_a_format_error_that_keeps_the_question() -> None:
    opt = wire.write_opt(Edns())
    with pytest.raises(Malformed) as error:
        wire.read_query(HEADER.pack(1, 0, 1, 0, 0, 2) + NAME + b"\0\1\0\1" + opt + opt)
    assert error.value.question == NAME + b"\0\1\0\1"


# ---- answers -----------------------------------------------------------------------------------------------


def test_answers_are_what_dnspython_reads() -> None:
    target = names.from_text("multi.shop.svc.cluster.local.")
    reply = Reply(
        wire.NOERROR,
        (Record(NAME, wire.CNAME, 30, target), Record(target, wire.A, 5, b"\x0a\x60\x01\x02")),
        (),
        (Record(names.from_text("_x._tcp.cluster.local."), wire.SRV, 5, b"\0\0\0\x64\0\x50" + target),),
        wire.AA,
    )
    message = dns.message.from_wire(
        wire.write_reply(Query(9, NAME, wire.A, edns=Edns(4096, True)), reply, 4096)
    )
    assert (message.id, message.edns, message.payload) == (9, 0, 4096)
    assert message.flags == dns.flags.QR | dns.flags.AA | dns.flags.RD
    assert message.ednsflags & dns.flags.DO
    assert [str(rrset) for rrset in message.answer] == [
        "web.prod.svc.cluster.local. 30 IN CNAME multi.shop.svc.cluster.local.",
        "multi.shop.svc.cluster.local. 5 IN A 10.96.1.2",
    ]
    assert (
        str(message.additional[0]) == "_x._tcp.cluster.local. 5 IN SRV 0 100 80 multi.shop.svc.cluster.local."
    )


def test_names_are_compressed_but_not_in_srv_records() -> None:
    records = tuple(Record(NAME, wire.CNAME, 5, NAME) for _ in range(2))
    small = wire.write_reply(Query(1, NAME, wire.CNAME), Reply(0, records), 512)
    assert len(small) == 12 + len(NAME) + 4 + 2 * (2 + 10 + 2)
    srv = Record(NAME, wire.SRV, 5, bytes(6) + NAME)
    large = wire.write_reply(Query(1, NAME, wire.SRV), Reply(0, (srv,)), 512)
    assert len(large) == 12 + len(NAME) + 4 + 2 + 10 + 6 + len(NAME)


@given(st.integers(0, 120), st.integers(512, 4096))
def test_no_answer_is_larger_than_allowed_and_tc_tells_what_is_missing(count: int, limit: int) -> None:
    records = tuple(Record(NAME, wire.A, 5, bytes((10, 0, 0, i))) for i in range(count))
    data = wire.write_reply(Query(1, NAME, wire.A, edns=Edns(limit)), Reply(0, records), limit)
    message = dns.message.from_wire(data)
    assert len(data) <= limit
    found = sum(len(rrset) for rrset in message.answer)
    assert bool(message.flags & dns.flags.TC) == (found < count)
    assert message.edns == 0


def test_additional_records_are_left_out_without_tc() -> None:
    answer = (Record(NAME, wire.A, 5, b"\x0a\0\0\1"),)
    extra = tuple(Record(NAME, wire.AAAA, 5, bytes(16)) for _ in range(40))
    data = wire.write_reply(Query(1, NAME, wire.A), Reply(0, answer, (), extra), 512)
    message = dns.message.from_wire(data)
    assert len(data) <= 512
    assert not message.flags & dns.flags.TC
    assert message.additional


def test_compressed_rdata_of_other_servers_is_read_in_full() -> None:
    reply = reply_of(
        "id 5\nopcode QUERY\nrcode NOERROR\nflags QR RD RA AD\n;QUESTION\nup.test. IN MX\n;ANSWER\n"
        "up.test. 300 IN MX 10 mail.up.test.\n;AUTHORITY\n"
        "up.test. 60 IN SOA ns.up.test. admin.up.test. 1 2 3 4 5\n;ADDITIONAL\n"
        "mail.up.test. 300 IN A 198.51.100.25\n"
    )
    assert reply.answer[0].data == b"\0\x0a" + names.from_text("mail.up.test.")
    assert reply.authority[0].data.startswith(
        names.from_text("ns.up.test.") + names.from_text("admin.up.test.")
    )
    assert reply.flags == wire.RA | wire.AD
    assert reply.foreign


@pytest.mark.parametrize(
    "change",
    [
        lambda q: Query(q.id ^ 1, q.name, q.type),
        lambda q: Query(q.id, names.from_text("other.test."), q.type),
        lambda q: Query(q.id, q.name, wire.AAAA),
        lambda q: Query(q.id, q.name, q.type, wire.CH),
    ],
    ids=["id", "name", "type", "class"],
)
def test_answers_to_other_questions_are_not_taken(change: object) -> None:
    asked = Query(77, NAME, wire.A)
    answer = wire.write_reply(asked, Reply(0, (Record(NAME, wire.A, 5, b"\x0a\0\0\1"),)), 512)
    assert wire.read_reply(answer, asked) is not None
    assert wire.read_reply(answer, change(asked)) is None  # type: ignore[operator]


def test_the_echo_of_our_own_question_is_no_answer() -> None:
    query = Query(77, NAME, wire.A)
    assert wire.read_reply(wire.write_query(query), query) is None
