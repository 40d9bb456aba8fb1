"""`fairway proxy`: its flags are kube-proxy's."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fairway.cli import proxy
from fairway.proxy.config import Config


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """The configurations that the command would have run."""
    configs: list[Config] = []

    async def nothing(config: Config) -> None:
        configs.append(config)

    def run_component(name: str, work: Coroutine[Any, Any, None]) -> None:
        with pytest.raises(StopIteration):
            work.send(None)

    monkeypatch.setattr(proxy, "run", nothing)
    monkeypatch.setattr(proxy, "run_component", run_component)
    return configs


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(proxy.command, arguments)
    return result.exit_code, result.output


def test_flags_become_the_configuration(started: list[Config], tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.touch()
    code, output = invoke(
        *("--kubeconfig", str(kubeconfig), "--hostname-override", "Node-1", "--masquerade-all"),
        *("--cluster-cidr", "10.244.0.0/16,fd00:244::/56", "--nodeport-addresses=192.0.2.0/24"),
        *("--nftables-scheduler", "rr", "--publish-progress=false"),
    )
    assert (code, output) == (0, "")
    assert started == [
        Config(
            kubeconfig=kubeconfig,
            hostname_override="node-1",
            cluster_cidr=("10.244.0.0/16", "fd00:244::/56"),
            nodeport_addresses=("192.0.2.0/24",),
            masquerade_all=True,
            nftables_scheduler="rr",
            publish_progress=False,
        )
    ]


def test_without_flags_the_node_is_called_as_the_host_and_progress_depends_on_the_server(
    started: list[Config],
) -> None:
    assert invoke() == (0, "")
    assert started[0].hostname_override
    assert started[0].publish_progress is None


def test_node_ports_can_be_narrowed_to_the_primary_address(started: list[Config]) -> None:
    invoke("--nodeport-addresses", "primary")
    assert started[0].nodeport_addresses == ("primary",)


@pytest.mark.parametrize("mode", ["ipvs", "userspace", "magic"])
def test_modes_that_are_not_there_are_named_in_a_clear_error(started: list[Config], mode: str) -> None:
    code, output = invoke("--proxy-mode", mode)
    assert code == 1
    assert f"proxy mode {mode} is not built yet" in output
    assert started == []


def test_a_range_that_is_none_is_refused_with_the_flags_name(started: list[Config]) -> None:
    code, output = invoke("--cluster-cidr", "10.244.0.0/99")
    assert code == 2
    assert "--cluster-cidr" in output
