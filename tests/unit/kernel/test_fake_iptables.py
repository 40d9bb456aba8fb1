"""The iptables in memory refuses what the kernel refuses, and a table is changed wholly or not at all."""

from __future__ import annotations

import pytest

from fairway.kernel.fake_iptables import FakeIptables
from fairway.kernel.iptables import IptablesError, explain


@pytest.mark.parametrize(
    "line",
    ["-A MISSING -j ACCEPT", "-A INPUT -j MISSING", "-D INPUT -j ACCEPT", "-X INPUT2", "-X USED", "-Z INPUT"],
)
def test_a_refused_line_leaves_the_table_as_it_was(line: str) -> None:
    iptables = FakeIptables()
    iptables.restore(4, "*filter\n:USED - [0:0]\n-A FORWARD -j USED\nCOMMIT\n")
    before = iptables.save(4)
    with pytest.raises(IptablesError):
        iptables.restore(4, f"*filter\n-A INPUT -j DROP\n{line}\nCOMMIT\n")
    assert iptables.save(4) == before


def test_an_error_quotes_the_line_that_iptables_names() -> None:
    text = "*nat\n-A KUBE-X -j NOWHERE\nCOMMIT\n"
    complaint = "iptables-nft-restore v1.8.9 (nf_tables): \nline 2: CHAIN_ADD failed (No such file)\n"
    assert explain(complaint, text).endswith("(No such file): -A KUBE-X -j NOWHERE")
    assert explain("", text) == "refused without a reason"
