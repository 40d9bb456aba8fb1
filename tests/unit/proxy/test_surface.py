"""Who is told how programming goes, and what follows from it."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from fairway.httpserver import Request, Response
from fairway.proxy import surface
from fairway.proxy.config import Config
from fairway.proxy.settings import Settings
from fairway.proxy.surface import Surface


class Silent:
    """A mode that can do nothing more than it must."""

    def apply(self, changes: object) -> None: ...
    def synchronise(self, changes: object) -> None: ...
    def configure(self, settings: object) -> None: ...
    def is_intact(self) -> bool:
        return True

    def remove(self) -> None: ...


def made(**changes: object) -> Surface:
    return Surface(replace(Config(hostname_override="n1"), **changes), Silent(), lambda: 7)  # type: ignore[arg-type]


async def test_a_failure_that_nobody_asked_for_a_change_in_makes_the_proxy_late_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = made()
    shown.programmed({}, True, 0.1)
    assert shown.health.is_healthy
    shown.failed()
    monkeypatch.setattr(shown.health, "_clock", lambda: 1e12)
    assert not shown.health.is_healthy
    shown.programmed({}, True, 0.1)
    assert shown.health.is_healthy


async def ask(shown: Surface, page: str, target: str) -> Response:
    answer: Response = await getattr(shown, page)(Request("GET", target, {}))
    return answer


async def test_a_mode_that_describes_nothing_says_so() -> None:
    answer = await ask(made(proxy_mode="iptables"), "_rules", "/rules?service=default/web")
    assert (answer.status, answer.body) == (
        501,
        b"proxy mode iptables does not describe what it has programmed\n",
    )


async def test_a_mode_without_figures_has_the_common_ones() -> None:
    answer = await ask(made(proxy_mode="iptables"), "_metrics", "/metrics")
    assert b"fairway_proxy_services 7\n" in answer.body
    assert b'fairway_proxy_mode{mode="iptables"} 1\n' in answer.body


async def test_the_configuration_in_force_is_shown_as_kubernetes_spells_it() -> None:
    answer = await ask(made(cluster_cidr=("10.1.0.0/16",)), "_configz", "/configz")
    told = msgspec.json.decode(answer.body)["kubeproxy.config.k8s.io"]
    assert (told["clusterCIDR"], told["hostnameOverride"]) == ("10.1.0.0/16", "n1")


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ((), None),
        (("0.0.0.0/0", "::/0"), None),
        (("192.0.2.0/24",), ["192.0.2.1"]),
        (("0.0.0.0/0",), ["127.0.0.1", "192.0.2.1"]),
        (("::/0",), ["2001:db8::1"]),
        (("198.51.100.0/24",), []),
    ],
)
async def test_health_check_ports_are_where_node_ports_are(
    monkeypatch: pytest.MonkeyPatch, ranges: tuple[str, ...], expected: list[str] | None
) -> None:
    monkeypatch.setattr(
        surface, "local_addresses", lambda: {"127.0.0.1", "192.0.2.1", "2001:db8::1", "fe80::1"}
    )
    shown = made()
    shown.reconfigured(Settings(nodeport_addresses=ranges))
    assert shown._check_addresses() == expected
