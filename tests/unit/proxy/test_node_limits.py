"""What connection tracking is told on start."""

from __future__ import annotations

import pytest

from fairway.kernel import sysctl
from fairway.proxy.config import ConntrackLimits
from fairway.proxy.node_limits import limit_connections, wanted


def test_the_limit_grows_with_the_cores_and_has_a_floor() -> None:
    assert wanted(ConntrackLimits(max_per_core=32768, min=131072), 2)["max"] == 131072
    assert wanted(ConntrackLimits(max_per_core=32768, min=131072), 8)["max"] == 262144


def test_zeros_leave_everything_as_it_is() -> None:
    assert wanted(ConntrackLimits(0, 100, 0.0, 0.0, False, 0.0, 0.0), 4) == {}


def test_every_value_has_the_kernels_name() -> None:
    assert wanted(ConntrackLimits(0, 0, 86400.0, 3600.0, True, 5.0, 6.0), 1) == {
        "tcp_timeout_established": 86400,
        "tcp_timeout_close_wait": 3600,
        "tcp_be_liberal": 1,
        "udp_timeout": 5,
        "udp_timeout_stream": 6,
    }


def test_a_higher_limit_is_kept_and_what_can_not_be_set_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"max": "999999999", "tcp_timeout_established": "432000", "tcp_timeout_close_wait": "60"}
    prefix = "net/netfilter/nf_conntrack_"

    def write(name: str, value: str) -> str:
        if name.endswith("close_wait"):
            raise PermissionError
        before, values[name.removeprefix(prefix)] = values[name.removeprefix(prefix)], value
        return before

    monkeypatch.setattr(sysctl, "read", lambda name: values[name.removeprefix(prefix)])
    monkeypatch.setattr(sysctl, "write", write)
    limit_connections(ConntrackLimits())
    assert values == {
        "max": "999999999",
        "tcp_timeout_established": "86400",
        "tcp_timeout_close_wait": "60",
    }
