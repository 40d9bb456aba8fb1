"""Domain names between text and wire format."""

from __future__ import annotations

import dns.name
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.dns import names

LABELS = st.lists(st.binary(min_size=1, max_size=20), max_size=8)


def test_a_name_with_or_without_final_dot_is_the_same() -> None:
    assert names.from_text("web.prod") == names.from_text("web.prod.") == b"\x03web\x04prod\0"


def test_the_root_is_one_zero_octet() -> None:
    assert names.from_text(".") == names.from_text("") == b"\0"
    assert names.to_text(b"\0") == "."


@given(LABELS)
def test_text_form_agrees_with_dnspython_and_leads_back(labels: list[bytes]) -> None:
    name = names.join(labels) + b"\0"
    assert dns.name.from_text(names.to_text(name)).to_wire() == name
    assert names.from_text(names.to_text(name)) == name


@pytest.mark.parametrize("text", ["a..b", "a" * 64, ".".join(["a" * 63] * 4), r"\256", ".a"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(names.InvalidName):
        names.from_text(text)


def test_a_label_that_merely_ends_like_a_zone_is_not_in_it() -> None:
    zone = names.from_text("local")
    disguised = names.join([b"x\x05local"]) + b"\0"
    assert disguised.endswith(zone)
    assert not names.is_under(disguised, zone)
    assert names.is_under(names.from_text("a.local"), zone)
    assert names.is_under(zone, zone)
    assert names.is_under(zone, names.ROOT)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("10.96.0.1", "1.0.96.10.in-addr.arpa."),
        ("fd00:96::104", "4.0.1." + "0." * 21 + "6.9.0.0.0.0.d.f.ip6.arpa."),
    ],
)
def test_reverse_names_lead_to_their_address_and_back(address: str, name: str) -> None:
    packed = names.packed(address)
    assert packed is not None
    wire = names.reverse(packed)
    assert names.to_text(wire) == name
    digits = names.address_digits(names.labels(wire)[:-2], six=len(packed) == 16)
    assert digits == packed.hex()


@pytest.mark.parametrize("label", [b"256", b"01", b"x", b"", b"-1", b"1000"])
def test_labels_that_are_no_octets_are_no_address(label: bytes) -> None:
    assert names.address_digits([label, b"96", b"10"], six=False) is None


@pytest.mark.parametrize(
    "text", ["10.1.2.256", "010.1.2.3", "10.1.2", "10.1.2.3.4", "", "x", "1.2.3.4\n", "::g"]
)
def test_texts_that_are_no_address_have_no_octets(text: str) -> None:
    assert names.packed(text) is None


def test_networks_become_the_reverse_zones_that_cover_them() -> None:
    assert [names.to_text(z) for z in names.reverse_zone("10.244.0.0/16")] == ["244.10.in-addr.arpa."]
    quarters = [names.to_text(z) for z in names.reverse_zone("10.0.64.0/18")]
    assert len(quarters) == 64
    assert quarters[0] == "64.0.10.in-addr.arpa."
    assert [names.to_text(z) for z in names.reverse_zone("fd00::/8")] == ["d.f.ip6.arpa."]
