"""Records from text; dnspython is the other opinion."""

from __future__ import annotations

import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest

from fairway.dns import rdata


@pytest.mark.parametrize(
    "text",
    [
        "A 10.0.0.1",
        "AAAA 2001:db8::1",
        "CNAME b.test.",
        "NS ns.test.",
        "PTR a.test.",
        "MX 10 mail.test.",
        "SRV 0 100 80 web.test.",
        'TXT "one two" three',
        "SOA ns.test. admin.test. 1 2 3 4 5",
        'CAA 0 issue "ca.test"',
        "TYPE65280 \\# 3 0a0b0c",
    ],
)
def test_records_are_what_dnspython_makes_of_them(text: str) -> None:
    rdtype, _, rest = text.partition(" ")
    found = rdata.record(f"x.test. 60 IN {text}")
    expected = dns.rdata.from_text(dns.rdataclass.IN, dns.rdatatype.from_text(rdtype), rest)
    assert found.data == expected.to_wire()
    assert (found.type, found.ttl) == (int(dns.rdatatype.from_text(rdtype)), 60)


def test_ttl_and_class_may_be_missing_or_swapped_and_parentheses_only_group() -> None:
    assert rdata.record("x. A 1.2.3.4").ttl == 3600
    assert rdata.record("x. IN 5 A 1.2.3.4").ttl == 5
    assert rdata.record("x. 5 SOA a. b. (1 2\n3 4 5)") == rdata.record("x. 5 SOA a. b. 1 2 3 4 5")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x.",
        "x. IN",
        "x. A 300.0.0.1",
        "x. A ::1",
        "x. MX mail.",
        "x. SRV 1 2 99999 a.",
        "x. NAPTR 1",
        "x. TXT",
        "x. A 1.2.3.4 5",
    ],
)
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(rdata.RecordError):
        rdata.record(text)


def test_types_have_names_and_numbers() -> None:
    assert rdata.type_number("aaaa") == rdata.type_number("TYPE28") == 28
    assert (rdata.type_text(65), rdata.type_text(65280)) == ("HTTPS", "TYPE65280")
    with pytest.raises(rdata.RecordError):
        rdata.type_number("NOPE")
