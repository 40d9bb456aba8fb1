"""The Corefiles in the documentation are right, and the usual one is the one that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairway.dns.config import usual_corefile
from fairway.dns.corefile import parse
from fairway.dns.plugins import ORDER
from tests.unit.dns.plugins.bench import Bench

TEXT = (Path(__file__).parents[3] / "docs" / "dns.md").read_text()
COREFILES = re.findall(r"```corefile\n(.*?)```", TEXT, re.DOTALL)
FILES = {"/etc/resolv.conf": "nameserver 127.0.0.1\n", "/etc/hosts": ""}


def test_the_usual_corefile_is_documented() -> None:
    assert COREFILES[0] == usual_corefile("cluster.local", 53, ("/etc/resolv.conf",))


@pytest.mark.parametrize("text", COREFILES)
def test_documented_corefiles_are_right(text: str) -> None:
    for block in parse(text):
        inner = re.search(re.escape(block.keys[0]) + r" \{\n(.*?)\n\}", text, re.DOTALL)
        assert inner
        Bench(inner[1], block.keys[0], FILES)


@pytest.mark.parametrize("name", ORDER)
def test_every_plugin_is_documented(name: str) -> None:
    assert f"`{name}" in TEXT
