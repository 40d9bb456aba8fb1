"""Sets filled by messages of our own hold the same as sets filled by the words of nft."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from fairway.kernel.nftables import LibNftables, NftablesError
from fairway.kernel.nftables_elements import Refill
from fairway.proxy.model import Family
from fairway.proxy.nftables import ruleset
from fairway.proxy.nftables.transaction import Element, Table, add_elements

from .topology import Namespace

V4, V6 = "10.96.0.80", "fd00:96::80"


@pytest.fixture
def nftables(space: Namespace) -> Iterator[LibNftables]:
    with contextlib.closing(space.run(LibNftables)) as opened:
        opened.run("\n".join(tables()))
        yield opened


def tables() -> Iterator[str]:
    for family in Family:
        yield f"add table {family} t"
        yield f"add chain {family} t way"
        for definition in ruleset.maps(family).values():
            kind, rest = definition.split(" ", 1)
            yield f"add {kind} {family} t {rest}"


def elements(family: Family) -> dict[str, list[tuple[str, str]]]:
    """Of every set that Services fill."""
    ip, pod = (V4, "10.244.0.1") if family is Family.IPV4 else (V6, "fd00:244::1")
    net = "192.0.2.0/24" if family is Family.IPV4 else "2001:db8::/32"
    slots = [(f"{ip} . 80 . {slot}", f"{pod} . {9000 + slot}") for slot in (0, 1, 32768)]
    sticky = [(f"{ip} . 80 . f123:4567", f"{pod} . 65535"), (f"{ip} . 80 . f000:0", f"{pod} . 1")]
    frontends = [f"{ip} . {protocol} . {port}" for protocol in ("tcp", "udp", "sctp") for port in (1, 65535)]
    return {
        "services": [(key, way) for key, way in zip(frontends, ["goto way", "drop"] * 3, strict=True)],
        "internal": [(key, "goto way") for key in frontends],
        "sticky-slots": [(f"{key} . 32769", "f0ff:ffff") for key in frontends],
        "firewalled": [(key, "") for key in frontends],
        "allowed-sources": [(f"{frontends[0]} . {net}", ""), (f"{frontends[0]} . {pod}", "")],
        "hairpin": [(f"{pod} . {pod}", "")],
        "cluster-ips": [(ip, "")],
        **{f"{protocol}-endpoints": slots for protocol in ("tcp", "udp", "sctp")},
        **{f"{protocol}-sticky": sticky for protocol in ("tcp", "udp", "sctp")},
    }


def refills() -> list[Refill]:
    return [
        Refill(family, "t", name, ruleset.maps(family)[name], entries)
        for family in Family
        for name, entries in elements(family).items()
    ]


def words() -> Iterator[str]:
    for family in Family:
        for name, entries in elements(family).items():
            yield from add_elements(Table(family, "t"), [Element(name, *entry) for entry in entries])


def seen(nftables: LibNftables) -> dict[tuple[str, str], list[str]]:
    """The elements of every set, in no particular order."""
    found = [
        entry[kind] for entry in nftables.query("list ruleset") for kind in ("set", "map") if kind in entry
    ]
    return {(s["family"], s["name"]): sorted(map(str, s["elem"])) for s in found if "elem" in s}


def test_every_set_of_a_node_is_filled_as_by_nft(nftables: LibNftables) -> None:
    nftables.run("\n".join(words()))
    by_nft = seen(nftables)
    assert len(by_nft) == len(refills())
    nftables.run("delete table ip t\ndelete table ip6 t")
    nftables.run("\n".join(tables()))
    assert nftables.refill(refills()) == 1
    assert seen(nftables) == by_nft


def test_every_set_that_services_fill_is_among_them() -> None:
    for family in Family:
        filled = {name for name in ruleset.maps(family) if name not in (*ruleset.KEPT, *ruleset.CONFIGURED)}
        assert filled == set(elements(family))


def test_what_a_set_held_before_is_gone(nftables: LibNftables) -> None:
    nftables.refill(refills())
    before = nftables.generation()
    nftables.refill([refill._replace(elements=refill.elements[:1]) for refill in refills()])
    assert nftables.generation() == before + 1
    contents = nftables.contents("ip6", "t", list(elements(Family.IPV6)))
    assert contents is not None
    assert set(contents.elements.values()) == {1}


def test_a_refused_element_leaves_everything_as_it_was(nftables: LibNftables) -> None:
    nftables.refill(refills())
    before = seen(nftables)
    definition = ruleset.maps(Family.IPV4)["services"]
    lost = Refill("ip", "t", "services", definition, [(f"{V4} . tcp . 80", "goto nowhere")])
    with pytest.raises(NftablesError, match="No such file or directory"):
        nftables.refill([Refill("ip", "t", "hairpin", ruleset.maps(Family.IPV4)["hairpin"], []), lost])
    assert seen(nftables) == before
    assert nftables.refill(refills()) == 1


MANY = """
from fairway.kernel.nftables import LibNftables
from fairway.kernel.nftables_elements import Refill

nftables = LibNftables()
definition = "set s { typeof ip daddr; }"
nftables.run(f"add table ip t\\nadd set ip t {definition.removeprefix('set ')}")
addresses = [(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}", "") for n in range(50_000)]
commits = nftables.refill([Refill("ip", "t", "s", definition, addresses)])
print(commits, nftables.contents("ip", "t", ["s"]).elements["s"])
"""


@pytest.mark.parametrize(("user", "at_once"), [((), True), (("--user", "--map-root-user"), False)])
def test_what_is_more_than_a_user_without_root_may_send_goes_in_pieces(
    user: tuple[str, ...], at_once: bool
) -> None:
    command = ["unshare", *user, "--net", sys.executable, "-c", MANY]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    commits, held = map(int, done.stdout.split())
    assert (commits == 1) == at_once
    assert held == 50_000
