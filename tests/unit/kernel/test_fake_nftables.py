"""The fake refuses what the kernel refuses, as a whole."""

from __future__ import annotations

import pytest

from fairway.kernel.fake_nftables import FakeNftables
from fairway.kernel.nftables import NftablesError

START = "\n".join(
    [
        "add table ip t",
        "add map ip t m { typeof ip daddr : verdict; }",
        "add chain ip t c",
        "add rule ip t c drop",
        "add element ip t m { 10.0.0.1 : goto c }",
    ]
)


@pytest.fixture
def nft() -> FakeNftables:
    started = FakeNftables()
    started.run(START)
    return started


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("delete element ip t m { 10.0.0.2 }", "No such file"),
        ("add element ip t m { 10.0.0.1 : drop }", "File exists"),
        ("add element ip t m { 10.0.0.2 : goto nowhere }", "No such file"),
        ("delete chain ip t c", "busy"),
        ("add map ip t m { typeof ip saddr : verdict; }", "File exists"),
        ("flush map ip t n", "No such file"),
        ("delete table ip other", "No such file"),
        ("add nonsense ip t x", "syntax"),
    ],
)
def test_what_the_kernel_refuses_is_refused(nft: FakeNftables, command: str, reason: str) -> None:
    with pytest.raises(NftablesError, match=reason):
        nft.run(f"add chain ip t other\n{command}")
    assert list(nft.tables["ip", "t"].chains) == ["c"], "nothing of a refused transaction is in force"


def test_adding_the_same_again_is_fine(nft: FakeNftables) -> None:
    nft.run("add element ip t m { 10.0.0.1 : goto c }")


def test_a_chain_may_go_once_nothing_leads_to_it(nft: FakeNftables) -> None:
    nft.run("delete element ip t m { 10.0.0.1 }\nflush chain ip t c\ndelete chain ip t c")
    assert nft.tables["ip", "t"].chains == {}


def test_every_transaction_counts_as_a_generation(nft: FakeNftables) -> None:
    before = nft.generation()
    nft.run("add chain ip t d")
    with pytest.raises(NftablesError):
        nft.run("flush map ip t n")
    assert nft.generation() == before + 1
