"""The pools shown in the guide are pools."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from fairway.lb.allocation.pools import read_pools

GUIDE = Path(__file__).parents[3] / "docs" / "lb.md"


def test_the_config_map_of_the_guide_can_be_read() -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        assert [pool.name for pool in read_pools(yaml.safe_load(block)["data"]["config"])] == ["default"]
